#pragma once
// What the kernels of spans get of the arguments of ops/span_vectors.h and ops/span_slots.h. Host
// code without CUDA.

#include <vector>

#include "ops/cuda/span_scores.h"
#include "ops/cuda/span_vectors.h"
#include "ops/span_slots.h"

namespace longhaul::cuda {

/// A task for each of the blocks, whose numbers go to `tokens`; `scratch` has span_scratch_bytes()
/// of a whole block for each.
void set_span_tasks(const DividedTokens& blocks, const SpanTokenRule& rule, int32_t* tokens,
                    std::byte* scratch, std::vector<SpanTask>& tasks);

inline TokenRecords token_records(const SpanTokens& tokens) {
  return {tokens.numbers().address(), tokens.blocks(), tokens.spans(),
          static_cast<int>(tokens.most())};
}

inline QueryForm query_form(const SpanQueries& queries) {
  return {queries.q.address(), queries.heads, queries.kv_heads,
          queries.head_dim,    queries.head,  queries.sum_of_span};
}

inline SpanTable span_table(const SlottedSpans& spans) {
  return {spans.blocks,
          spans.width,
          spans.records.address(),
          spans.record,
          spans.vectors.address(),
          spans.type,
          spans.slots,
          spans.common.empty() ? nullptr : spans.common.address()};
}

}  // namespace longhaul::cuda
