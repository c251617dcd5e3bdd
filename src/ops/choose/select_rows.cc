#include "ops/choose/select_rows.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/on_device.h"

namespace longhaul {
namespace {

constexpr int64_t kMostRows = std::numeric_limits<int32_t>::max() - 1;

void check(const RowsToKeep& keep) { LH_ASSERT(keep.first >= 0 && keep.last >= 0); }

RowList all_rows(Queue& queue, int64_t rows, RowSelection& selection) {
  const View<int32_t> all = selection.rows.resize(queue, rows);
  std::iota(host(all).begin(), host(all).end(), 0);
  return {all, {}};
}

/// The scores between the ends of a list; empty if the ends meet.
std::span<const float> middle_of(View<const float> scores, const RowsToKeep& keep) {
  const int64_t rows = scores.size(), between = rows - keep.first - keep.last;
  return between <= 0 ? std::span<const float>() : host(scores.part(keep.first, between));
}

/// Combines the ends of a list with the selection between them. `choose(out)` writes row numbers
/// and returns their count, at most `most`.
template <class Choose>
RowList with_ends(Queue& queue, int64_t rows, int64_t most, const RowsToKeep& keep,
                  RowSelection& selection, Choose&& choose) {
  int32_t* const first =
      host(selection.rows.resize(queue, keep.first + most + keep.last + 1)).data();
  std::iota(first, first + keep.first, 0);
  int32_t* const last = first + keep.first + choose(first + keep.first);
  std::iota(last, last + keep.last, static_cast<int32_t>(rows - keep.last));
  return {selection.rows.resize(queue, last + keep.last - first), {}};
}

}  // namespace

RowList select_rows(Queue& queue, View<const float> scores, const RowsToKeep& keep,
                    RowSelection& selection) {
  check(keep);
  const int64_t rows = scores.size();
  LH_ASSERT(rows <= kMostRows && keep.count >= keep.first + keep.last);
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
  const ScoreCut<float> cut = cut_after(middle, chosen, selection.ranked);
  return with_ends(queue, rows, chosen, keep, selection,
                   [&](int32_t* out) { return write_best(middle, cut, keep.first, out); });
}

void select_rows(Queue& queue, std::span<const View<const float>> scores, const RowsToKeep& keep,
                 std::span<RowSelection> selections, std::span<RowList> kept) {
  LH_ASSERT(selections.size() == scores.size() && kept.size() == scores.size());
  check(keep);
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

namespace {

/// Copies the scores between the ends of every list to `pool`, consecutively and without the best
/// `sure` of each, whose threshold is stored in its selection. Returns the number of scores.
int64_t collect_rivals(std::span<const View<const float>> scores, const RowsToKeep& keep,
                       int64_t sure, std::span<RowSelection> selections, std::span<float> pool) {
  int64_t count = 0;
  for (size_t l = 0; l < scores.size(); ++l) {
    const std::span<const float> middle = middle_of(scores[l], keep);
    const std::span<float> copy = pool.subspan(static_cast<size_t>(count), middle.size());
    std::transform(middle.begin(), middle.end(), copy.begin(),
                   [](float x) { return ordered_score(x); });
    selections[l].sure = cut_reordering(copy, sure);
    const int64_t rivals = std::max<int64_t>(0, std::ssize(middle) - sure);
    std::copy(copy.end() - rivals, copy.end(), copy.begin());
    count += rivals;
  }
  return count;
}

/// Writes guaranteed rows, and rows within the shared threshold, consuming its `equal`.
int64_t write_dealt(std::span<const float> middle, ScoreCut<float> sure, ScoreCut<float>& shared,
                    int64_t first, int32_t* out) {
  int64_t count = 0;
  for (size_t i = 0; i < middle.size(); ++i) {
    const float x = ordered_score(middle[i]);
    bool stays = x > sure.score || (x == sure.score && sure.equal-- > 0);
    if (!stays) stays = x > shared.score || (x == shared.score && shared.equal-- > 0);
    if (stays) out[count++] = static_cast<int32_t>(first + static_cast<int64_t>(i));
  }
  return count;
}

/// Runs the selection on a device; returns false if that is not possible.
bool deal_there(Queue& queue, DealtRows& dealt, std::span<RowSelection> selections, int64_t between,
                std::span<RowList> kept) {
  if (!has(kDealRows, queue) || dealt.scores.front().place().host()) return false;
  const RowsToKeep& ends = dealt.ends;
  dealt.scratch = selections[0].ranked.resize(queue, between);
  std::vector<View<int32_t>> rows;
  for (size_t l = 0; l < kept.size(); ++l) {
    const int64_t most =
        std::min(dealt.scores[l].size(), ends.first + ends.last + dealt.sure + dealt.left);
    rows.push_back(selections[l].rows.resize(queue, most));
    kept[l] = {rows.back(), dealt.counts.part(static_cast<int64_t>(l), 1)};
  }
  dealt.rows = rows;
  return on_device(kDealRows, queue, dealt);
}

}  // namespace

void select_rows_dealt(Queue& queue, std::span<const View<const float>> scores,
                       const RowsToKeep& keep, int64_t sure, std::span<RowSelection> selections,
                       std::span<RowList> kept, View<int32_t> counts) {
  LH_ASSERT(selections.size() == scores.size() && kept.size() == scores.size());
  check(keep);
  LH_ASSERT(sure >= 0);
  int64_t rows = 0, between = 0, settled = 0;  // settled: rows kept independently of other lists
  for (const View<const float>& list : scores) {
    LH_ASSERT(list.size() <= kMostRows);
    rows += list.size();
    between += std::max<int64_t>(0, list.size() - keep.first - keep.last);
    settled += std::min(list.size(), keep.first + keep.last + sure);
  }
  if (rows <= keep.count) {
    for (size_t l = 0; l < scores.size(); ++l) {
      kept[l] = all_rows(host_queue(), scores[l].size(), selections[l]);
    }
    return;
  }
  LH_ASSERT(settled <= keep.count);
  DealtRows dealt{.scores = scores, .ends = keep, .sure = sure, .left = keep.count - settled};
  dealt.counts = counts;
  if (deal_there(queue, dealt, selections, between, kept)) return;
  if (!queue.on_host()) {
    HostStage on(queue);
    std::vector<View<const float>> here;
    for (const View<const float>& list : scores) here.push_back(on(list));
    return select_rows_dealt(host_queue(), here, keep, sure, selections, kept, {});
  }
  const std::span<float> pool = host(selections[0].ranked.resize(queue, between));
  const int64_t rivals = collect_rivals(scores, keep, sure, selections, pool);
  ScoreCut<float> shared =
      cut_reordering(pool.first(static_cast<size_t>(rivals)), keep.count - settled);
  for (size_t l = 0; l < scores.size(); ++l) {
    const int64_t length = scores[l].size();
    if (length <= keep.first + keep.last) {
      kept[l] = all_rows(queue, length, selections[l]);
      continue;
    }
    const std::span<const float> middle = middle_of(scores[l], keep);
    kept[l] = with_ends(queue, length, std::ssize(middle), keep, selections[l], [&](int32_t* out) {
      return write_dealt(middle, selections[l].sure, shared, keep.first, out);
    });
  }
}

std::vector<int32_t> read_counts(Queue& queue, View<const int32_t> counts) {
  HostStage on(queue);
  const std::span<const int32_t> here = host(on(counts));
  return {here.begin(), here.end()};
}

}  // namespace longhaul
