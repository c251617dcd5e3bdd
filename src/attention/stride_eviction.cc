#include "attention/stride_eviction.h"

#include <algorithm>

#include "attention/restored_lists.h"
#include "base/byte_stream.h"
#include "base/error.h"

namespace longhaul {

StrideBudget StrideBudget::from(const MethodOptions& options, std::string_view method,
                                std::string_view budget_key) {
  StrideBudget how;
  how.budget = options.integer(budget_key);
  how.stride = options.integer("stride");
  how.sink = options.integer("sink");
  how.recent = options.optional_integer("recent").value_or((how.budget + how.stride) / 10);
  how.placement = options.text("positions") == "cache" ? Placement::kList : Placement::kText;
  if (how.budget < how.sink + how.recent) {
    user_error("--attention {}: {}={}: must be at least sink + recent = {} + {}", method,
               budget_key, how.budget, how.sink, how.recent);
  }
  return how;
}

StrideEviction::StrideEviction(const StrideBudget& budget, const ModelShape& shape)
    : how_(budget), shape_(shape), rows_(budget.placement) {}

std::vector<Pass> StrideEviction::prepare(const PromptFacts& prompt) {
  reading_ = true;
  // A list is cut to `target_` rows after every stride: the largest size up to budget + stride from
  // which whole strides end with the prompt.
  const int64_t stride = how_.stride, most = how_.budget + stride;
  const int64_t total = held_ + prompt.tokens;
  target_ = total <= most ? total : most - (stride - (total - most) % stride) % stride;
  const int64_t lead = target_ - stride - held_;
  return passes_.plan(prompt, lead >= 0 ? lead : prompt.tokens % stride, stride);
}

void StrideEviction::attend(LayerStep& step) {
  if (step.decoding) reading_ = false;
  rows_.attend(step);
  if (!forgets(step.layer)) return;
  held_ = step.store->length(step.layer, 0);
  if (reading_ && held_ > target_) observe(step, rows_);
}

void StrideEviction::retain(KvStore& store, const Pass& pass, bool last_of_prompt) {
  // Prompts shorter than a stride end none; they must not add up.
  const bool overfull = last_of_prompt && held_ > how_.budget + how_.stride;
  if (reading_ && (passes_.ends_stride(pass) || overfull) && held_ > target_) {
    for (int layer = 0; layer < shape_.layers; ++layer) {
      if (forgets(layer)) forget(store, layer, target_);
    }
    held_ = target_;
  }
  if (last_of_prompt) reading_ = false;
}

size_t StrideEviction::most_kv_bytes(const KvLayout& layout, int64_t tokens, int) const {
  for (int layer = 0; layer < shape_.layers; ++layer) {
    if (!forgets(layer)) return layout.bytes_for(tokens);
  }
  // A later prompt begins at up to budget + stride rows with less than a stride that ends none.
  return layout.bytes_for(std::min(tokens, how_.budget + 3 * how_.stride));
}

void StrideEviction::save(ByteWriter& out) const { out.number<int64_t>(held_); }
void StrideEviction::restore(ByteReader& in) { held_ = in.number<int64_t>(); }

void StrideEviction::check_restored(const KvStore& store, int64_t tokens) const {
  expect_kept_rows(store, shape_, tokens, false);
  for (int layer = 0; layer < shape_.layers; ++layer) {
    if (forgets(layer)) expect_length(store, layer, 0, held_);
  }
}

int64_t StrideEviction::reach(int64_t tokens, int) const {
  // A list of up to budget + stride rows is cut when one more stride has been read.
  const bool in_list = how_.placement == Placement::kList;
  return in_list ? std::min(tokens, how_.budget + 2 * how_.stride) : tokens;
}

}  // namespace longhaul
