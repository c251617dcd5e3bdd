#include "attention/parts/sparse_prefill.h"

#include <algorithm>

#include "base/clock.h"
#include "base/nth.h"
#include "ops/attention/gather_lists.h"

namespace longhaul {
namespace {

/// Iterates over groups of the KV heads that attend in a step. If the device reads copies of lists
/// in bf16 faster than the stored rows (ops/attention/gather_lists.h), copies the lists of the
/// group, and makes the step read these copies. This is the case for keys in a quantized type such
/// as Q8_0, which GPU kernels would dequantize repeatedly, and for kernels with masks, which can
/// read only bf16 pages. Groups are needed because device memory may be too small for copies of all
/// lists. In each list, row i is token i.
class GatheredLists {
 public:
  explicit GatheredLists(LayerStep& step) : step_(step), only_(step.only) {
    LH_ASSERT(step.store->lists(step.layer) == step.kv_heads);
  }
  ~GatheredLists() { restore(); }
  GatheredLists(const GatheredLists&) = delete;
  GatheredLists& operator=(const GatheredLists&) = delete;

  /// Restricts the step to the next group of heads. Without copies, the group consists of all
  /// remaining heads, and the step reads the stored rows. Returns false after the last group.
  bool next() {
    restore();
    while (head_ < step_.kv_heads && !step_.attends(head_)) ++head_;
    if (head_ == step_.kv_heads) return false;
    const int first = head_, gathered = gather(first);
    head_ = gathered > 0 ? first + gathered : step_.kv_heads;
    own_.assign(static_cast<size_t>(step_.kv_heads), 0);
    for (int head = first; head < head_; ++head) nth(own_, head) = step_.attends(head) ? 1 : 0;
    step_.only = own_;
    if (gathered > 0) step_.copies = copies_;
    return true;
  }

 private:
  void restore() {
    step_.only = only_;
    step_.copies = {};
  }

  /// Copies the lists of adjacent attending heads from `head` on, as many as fit in device memory.
  /// Returns their number, or 0 if the device reads the stored rows at least as fast.
  int gather(int head) {
    std::vector<PagedRows> lists;
    for (int next = head; next < step_.kv_heads && step_.attends(next); ++next) {
      lists.push_back(step_.store->rows(step_.layer, next));
    }
    copies_.assign(static_cast<size_t>(step_.kv_heads), {});
    const auto to = std::span(copies_).subspan(static_cast<size_t>(head), lists.size());
    return gather_lists(*step_.queue, lists, step_.begin + step_.rows,
                        int64_t{step_.rows} * step_.group(), to);
  }

  LayerStep& step_;
  const std::span<const uint8_t> only_;  ///< the original value of LayerStep::only
  std::vector<uint8_t> own_;             ///< flags of the heads in the current group
  std::vector<PagedRows> copies_;        ///< one element per list
  int head_ = 0;                         ///< first head of the next group
};

}  // namespace

size_t SparsePrefill::tile_bytes(int heads, int64_t tokens, int rows) const {
  const TileGrid all{tile_, 0, tokens};
  const int64_t marks = heads * (rows / tile_ + 2) * all.blocks();
  return static_cast<size_t>(heads * host_tiles_of_call(heads, tokens) * tokens) * sizeof(int32_t) +
         static_cast<size_t>(marks);
}

void SparsePrefill::attend(LayerStep& step) {
  const int dense = dense_rows(step);
  if (dense == step.rows) return step.attend_all_keys(step.rows);
  for (GatheredLists heads(step); heads.next();) attend_heads(step, dense);
}

void SparsePrefill::attend_heads(LayerStep& step, int dense) {
  const Stopwatch watch;
  const bool sparse = choose_tiles(step, dense, new_rules(step));
  step.record->seconds += watch.seconds();
  if (!sparse) return step.attend_all_keys(step.rows);
  step.chose = true;
  if (dense > 0) step.attend_all_keys(dense);
  attend_tiles(step, dense);
}

int SparsePrefill::dense_rows(const LayerStep& step) const {
  if (step.decoding() || step.own_window() > 0) return step.rows;
  const int64_t end = (dense_below_ + tile_ - 1) / tile_ * tile_;
  return static_cast<int>(std::clamp<int64_t>(end - step.begin, 0, step.rows));
}

std::span<const AttendTask> SparsePrefill::last_rows(LayerStep& step, int64_t most) {
  const int rows = static_cast<int>(std::min<int64_t>(step.rows, most));
  return step.over_all_keys(step.rows - rows, rows);
}

std::span<TileRule> SparsePrefill::new_rules(LayerStep& step) {
  const TileGrid on = grid(step);
  marks_.resize(*step.queue, step.shape->heads * on.tiles() * on.blocks());
  rules_.assign(static_cast<size_t>(step.shape->heads), {});
  return rules_;
}

View<uint8_t> SparsePrefill::mark_blocks(const LayerStep& step, int head, int count,
                                         std::span<TileRule> rules) {
  const int64_t each = grid(step).tiles() * grid(step).blocks();
  for (int h = head; h < head + count; ++h) {
    TileRule& rule = nth(rules, h);
    rule.kind = TileRule::Kind::kBlocks;
    rule.blocks = marks_.view().part(h * each, each);
  }
  return marks_.view().part(head * each, count * each);
}

void SparsePrefill::attend_tiles(LayerStep& step, int first) {
  const View<const float> queries[] = {step.rotated_q()};
  const TileGrid on = grid(step);
  const std::span<const PagedRows> lists = step.lists();
  const int64_t tiles_per_head = tiles_of_call(*step.queue, on, rules_, lists);
  for (int64_t row = first; row < step.rows;) {
    const int64_t end = on.row_end(on.tile_of(row) + tiles_per_head - 1);
    const Stopwatch watch;
    const auto tasks = tile_lists(*step.queue, on, row, end, rules_, lists, tiles_);
    step.record->seconds += watch.seconds();
    step.attend(queries, tasks);
    row = end;
  }
}

}  // namespace longhaul
