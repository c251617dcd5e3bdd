#include "attention/method.h"

#include <algorithm>

#include "attention/restored_lists.h"
#include "base/error.h"

namespace longhaul {

KvLayout AttentionMethod::layout(const ModelShape& shape, DType type) const {
  if (!is_kv_type(type)) {
    user_error("--kv-type {}: must be f32, f16, bf16 or q8_0", name_of(type));
  }
  if (type == DType::Q8_0 && shape.head_dim % 32 != 0) {
    user_error("--kv-type q8_0: the model's head dimension {} is not a multiple of 32; use bf16",
               shape.head_dim);
  }
  KvLayout layout{shape.kv_heads, shape.head_dim, type};
  layout.numbers_per_row = numbers_per_row();
  return layout;
}

std::vector<Pass> AttentionMethod::prepare(const PromptFacts& prompt) {
  LH_ASSERT(prompt.chunk > 0 && prompt.tokens >= 0);
  // Equal, so that there is no tiny last pass; multiples of 32 rows suit the matrix kernels.
  const int64_t unit = prompt.chunk >= 128 ? 32 : 1;
  const int64_t units = (prompt.tokens + unit - 1) / unit;
  const int64_t cap = prompt.chunk / unit;
  const int64_t count = (units + cap - 1) / cap;
  std::vector<Pass> passes;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = units * i / count * unit;
    const int64_t end = std::min(units * (i + 1) / count * unit, prompt.tokens);
    passes.push_back({begin, end - begin});
  }
  return passes;
}

void AttentionMethod::check_restored(const KvStore& store, int64_t tokens) const {
  expect_all_tokens(store, tokens);
}

}  // namespace longhaul
