#include "ops/choose/select_rows.h"

#include "ops/choose/protected_rows.h"
#include "ops/choose/score_threshold.h"

namespace longhaul {
RowList select_rows(Queue& queue, View<const float> scores, const RowsToKeep& keep,
                    RowSelection& selection) {
  check_ends(keep);
  const int64_t rows = scores.size();
  LH_ASSERT(rows <= kMostListRows && keep.count >= keep.first + keep.last);
  if (rows <= keep.count) return all_rows(host_queue(), rows, selection);
  if (!queue.on_host()) {
    if (!scores.place().host()) {
      const View<int32_t> chosen = selection.rows.resize(queue, keep.count);
      const bool there = on_device(kSelectRows, queue, {&scores, 1}, keep, {&chosen, 1});
      if (there) return {chosen, {}};
    }
    HostStage on(queue);
    return select_rows(host_queue(), on(scores), keep, selection);
  }
  const std::span<const float> middle = middle_of(scores, keep);
  const int64_t chosen = keep.count - keep.first - keep.last;
  const ScoreThreshold<float> threshold = threshold_of_best(middle, chosen, selection.ranked);
  return with_ends(queue, rows, chosen, keep, selection,
                   [&](int32_t* out) { return write_best(middle, threshold, keep.first, out); });
}

void select_rows(Queue& queue, std::span<const View<const float>> scores, const RowsToKeep& keep,
                 std::span<RowSelection> selections, std::span<RowList> kept) {
  LH_ASSERT(selections.size() == scores.size() && kept.size() == scores.size());
  check_ends(keep);
  std::vector<View<const float>> longer;
  std::vector<View<int32_t>> chosen;
  for (size_t l = 0; l < scores.size() && !queue.on_host(); ++l) {
    if (scores[l].size() <= keep.count || scores[l].place().host()) continue;
    longer.push_back(scores[l]);
    chosen.push_back(selections[l].rows.resize(queue, keep.count));
    kept[l] = {chosen.back(), {}};
  }
  const bool there = !longer.empty() && on_device(kSelectRows, queue, longer, keep, chosen);
  for (size_t l = 0; l < scores.size(); ++l) {
    if (there && scores[l].size() > keep.count && !scores[l].place().host()) continue;
    kept[l] = select_rows(queue, scores[l], keep, selections[l]);
  }
}

}  // namespace longhaul
