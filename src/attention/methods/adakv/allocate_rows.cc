#include "attention/methods/adakv/allocate_rows.h"

#include <algorithm>

#include "ops/choose/protected_rows.h"

namespace longhaul {
namespace {

/// Copies the scores of the rows that compete for the rest of the budget to `pool`: those between
/// the ends of each list, without the best `guaranteed` of the list. The threshold of the
/// guaranteed rows is stored in the list's selection. Returns the number of copied scores.
int64_t collect_rivals(std::span<const View<const float>> scores, const RowsToKeep& keep,
                       int64_t guaranteed, std::span<SharedSelection> selections,
                       std::span<float> pool) {
  int64_t count = 0;
  for (size_t l = 0; l < scores.size(); ++l) {
    const std::span<const float> middle = middle_of(scores[l], keep);
    const std::span<float> copy = pool.subspan(static_cast<size_t>(count), middle.size());
    std::transform(middle.begin(), middle.end(), copy.begin(),
                   [](float x) { return ordered_score(x); });
    selections[l].guaranteed = threshold_reordering(copy, guaranteed);
    const int64_t rivals = std::max<int64_t>(0, std::ssize(middle) - guaranteed);
    std::copy(copy.end() - rivals, copy.end(), copy.begin());
    count += rivals;
  }
  return count;
}

/// Writes the kept rows between the ends of a list: the guaranteed ones, and those that reach the
/// threshold `shared`. Reduces shared.equal by the number of kept rows that equal the threshold.
int64_t write_allocated(std::span<const float> middle, ScoreThreshold<float> guaranteed,
                        ScoreThreshold<float>& shared, int64_t first, int32_t* out) {
  int64_t count = 0;
  for (size_t i = 0; i < middle.size(); ++i) {
    const float x = ordered_score(middle[i]);
    bool is_kept = x > guaranteed.score || (x == guaranteed.score && guaranteed.equal-- > 0);
    if (!is_kept) is_kept = x > shared.score || (x == shared.score && shared.equal-- > 0);
    if (is_kept) out[count++] = static_cast<int32_t>(first + static_cast<int64_t>(i));
  }
  return count;
}

/// Runs the selection on a device; returns false if that is not possible.
bool allocate_on_device(Queue& queue, SharedBudget& budget, std::span<SharedSelection> selections,
                        int64_t between, std::span<RowList> kept) {
  if (!has(kAllocateRows, queue) || budget.scores.front().place().host()) return false;
  const RowsToKeep& ends = budget.ends;
  budget.scratch = selections[0].ranked.resize(queue, between);
  std::vector<View<int32_t>> rows;
  for (size_t l = 0; l < kept.size(); ++l) {
    const int64_t most =
        std::min(budget.scores[l].size(), ends.first + ends.last + budget.guaranteed + budget.left);
    rows.push_back(selections[l].rows.resize(queue, most));
    kept[l] = {rows.back(), budget.counts.part(static_cast<int64_t>(l), 1)};
  }
  budget.rows = rows;
  return on_device(kAllocateRows, queue, budget);
}

}  // namespace

void allocate_rows(Queue& queue, std::span<const View<const float>> scores, const RowsToKeep& keep,
                   int64_t guaranteed, std::span<SharedSelection> selections,
                   std::span<RowList> kept, View<int32_t> counts) {
  LH_ASSERT(selections.size() == scores.size() && kept.size() == scores.size());
  check_ends(keep);
  LH_ASSERT(guaranteed >= 0);
  int64_t rows = 0, between = 0, settled = 0;  // settled: number of rows that are kept in any case
  for (const View<const float>& list : scores) {
    LH_ASSERT(list.size() <= kMostListRows);
    rows += list.size();
    between += std::max<int64_t>(0, list.size() - keep.first - keep.last);
    settled += std::min(list.size(), keep.first + keep.last + guaranteed);
  }
  if (rows <= keep.count) {
    for (size_t l = 0; l < scores.size(); ++l) {
      kept[l] = all_rows(host_queue(), scores[l].size(), selections[l]);
    }
    return;
  }
  LH_ASSERT(settled <= keep.count);
  SharedBudget budget{
      .scores = scores, .ends = keep, .guaranteed = guaranteed, .left = keep.count - settled};
  budget.counts = counts;
  if (allocate_on_device(queue, budget, selections, between, kept)) return;
  if (!queue.on_host()) {
    HostStage on(queue);
    std::vector<View<const float>> here;
    for (const View<const float>& list : scores) here.push_back(on(list));
    return allocate_rows(host_queue(), here, keep, guaranteed, selections, kept, {});
  }
  const std::span<float> pool = host(selections[0].ranked.resize(queue, between));
  const int64_t rivals = collect_rivals(scores, keep, guaranteed, selections, pool);
  ScoreThreshold<float> shared =
      threshold_reordering(pool.first(static_cast<size_t>(rivals)), keep.count - settled);
  for (size_t l = 0; l < scores.size(); ++l) {
    const int64_t length = scores[l].size();
    if (length <= keep.first + keep.last) {
      kept[l] = all_rows(queue, length, selections[l]);
      continue;
    }
    const std::span<const float> middle = middle_of(scores[l], keep);
    kept[l] = with_ends(queue, length, std::ssize(middle), keep, selections[l], [&](int32_t* out) {
      return write_allocated(middle, selections[l].guaranteed, shared, keep.first, out);
    });
  }
}

std::vector<int32_t> read_counts(Queue& queue, View<const int32_t> counts) {
  HostStage on(queue);
  const std::span<const int32_t> here = host(on(counts));
  return {here.begin(), here.end()};
}

}  // namespace longhaul
