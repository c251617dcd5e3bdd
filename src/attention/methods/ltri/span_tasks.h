#pragma once
// Converts the arguments of operations (attention/methods/ltri/span_vectors.h, span_slots.h) to the
// arguments of CUDA launchers. The code does not need CUDA.

#include "attention/methods/ltri/span_scores.gpu.h"
#include "attention/methods/ltri/span_slots.h"
#include "attention/methods/ltri/span_vectors.gpu.h"

namespace longhaul::cuda {

/// Returns the tasks that write the records of all blocks to `tokens`. The caller must still set
/// first.scratch.
SpanTasks span_tasks(const DividedTokens& blocks, const SpanTokenRule& rule, int32_t* tokens);

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
