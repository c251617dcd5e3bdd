// AttentionDriver's forecasts of memory and of the largest distance between rows and keys. Both are
// computed from the rules of the method (attention/plan.h).

#include <algorithm>

#include "attention/driver.h"
#include "attention/parts/passes.h"
#include "base/nth.h"

namespace longhaul {

AttentionDriver::MostRows AttentionDriver::most_rows(const ListPlan& plan, const KvLayout& layout,
                                                     int64_t tokens, int chunk) const {
  const Keep& keep = plan.keep;
  const When when = keep.all ? When::kNever : whole().when;
  int64_t most = kNoBound, between = kNoBound;
  if (when == When::kEveryPass) {
    between = keep.sink + keep.recent + layout.page_rows - 1;
    most = between + chunk;
  }
  if (when == When::kStride) {
    // A later prompt begins with up to budget + stride rows in a list, and may be shorter than a
    // stride.
    most = keep.budget + (whole().whole_strides ? 3 : 1) * whole().stride;
  }
  if (when == When::kOwn) {
    // A list may also hold the rows of a discarding pass, and each stream has a last page of its
    // own. This matters only in a short context.
    tokens += 2 * layout.page_rows;
    most = keep.in_memory;
    if (chunk >= keep.rest_chunk) between = keep.at_rest;
  }
  if (when == When::kNever && keep.in_memory < kNoBound) {
    most = keep.in_memory + chunk;
  }
  return {std::min({tokens, most, between}), std::min(tokens, most)};
}

int64_t AttentionDriver::most_rows_of_pass(const PromptFacts& prompt) const {
  const int tile = largest_tile();
  int64_t rows = std::min<int64_t>(prompt.chunk, prompt.tokens);
  if (when() == When::kStride && !whole().whole_strides) return std::min(rows, whole().stride);
  if (tile == 0) return rows;
  rows = 0;
  for (const Pass& pass : tile_passes(prompt, tile)) rows = std::max(rows, pass.count);
  return rows;
}

int64_t AttentionDriver::most_rows_together(const PromptFacts& prompt) const {
  // Discarding passes process the instruction again with every chunk of the text.
  return whole().reads_instruction ? int64_t{prompt.chunk}
                                   : std::min<int64_t>(prompt.chunk, prompt.tokens);
}

size_t AttentionDriver::most_kv_bytes(const KvLayout& layout, int64_t tokens, int chunk) const {
  size_t bytes = 0, most_passing = 0;
  for (int layer = 0; layer < shape_.layers; ++layer) {
    size_t passing = 0;
    for (int list = 0; list < layout.lists(layer); ++list) {
      const MostRows rows = most_rows(plan(layer, list), layout, tokens, chunk);
      const size_t between = layout.list_bytes_for(layer, rows.between);
      bytes += between;
      passing += layout.list_bytes_for(layer, rows.within) - between;
    }
    most_passing = std::max(most_passing, passing);
  }
  bytes += most_passing;
  return bytes * static_cast<size_t>(whole().streams) +
         method_->extra_memory(layout, tokens, chunk).most_index;
}

size_t AttentionDriver::index_bytes() const {
  return method_->extra_memory(KvLayout{shape_.kv_heads, shape_.head_dim}, tokens_, 1).index;
}

size_t AttentionDriver::working_bytes(int64_t tokens, int chunk) const {
  size_t bytes =
      method_->extra_memory(KvLayout{shape_.kv_heads, shape_.head_dim}, tokens, chunk).working;
  if (when() == When::kPromptEnd && evicting().budget < kNoBound) {
    const int lists = by_query_head() ? shape_.heads : std::ranges::max(shape_.kv_heads);
    constexpr int kArrays = 3;  // per layer: received attention, scores, and sort keys
    bytes += static_cast<size_t>(kArrays * lists * tokens) * sizeof(float);
    const int64_t window_rows =
        whole().observes_last_rows() ? std::min(tokens, whole().observation_window) : 0;
    bytes += ObservedRows::bytes_for(shape_.layers * window_rows, shape_.heads, shape_.head_dim);
  }
  return bytes;
}

bool AttentionDriver::keeps_replies() const {
  return (when() == When::kStride && !whole().every_token) || when() == When::kOwn;
}

int64_t AttentionDriver::reach(int64_t tokens, int chunk) const {
  int64_t farthest = 0;
  for (int layer = 0; layer < shape_.layers; ++layer) {
    for (int head = 0; head < shape_.lists(layer); ++head) {
      const ListPlan plan = method_->plan(layer, head, tokens);
      const Keep& keep = plan.keep;
      const When when = keep.all ? When::kNever : whole().when;
      int64_t reach = plan.see.reach;
      if (whole().place == KeyPlace::kCache && when == When::kEveryPass) {
        reach = keep.sink + keep.recent + chunk;
      } else if (whole().place == KeyPlace::kCache && when == When::kStride) {
        // A list may begin with budget + stride rows. The next eviction follows when one more
        // stride has been processed.
        reach = keep.budget + 2 * whole().stride;
      }
      farthest = std::max(farthest, std::min(tokens, reach));
    }
  }
  return farthest;
}

}  // namespace longhaul
