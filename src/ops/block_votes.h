#pragma once
// How several heads choose blocks together (Ltri-LLM, arXiv:2412.04757, 3.5): each adds its weight
// to the blocks that it would choose itself.

#include "ops/row_list.h"

namespace longhaul {

/// weights[i] += weight for each i of `chosen`.
void add_weight(Queue& queue, const RowList& chosen, float weight, View<float> weights);

/// Memory of a vote, reused from call to call.
struct BlockVote {
  Array<int32_t> order;
};

/// The k blocks (all, when there are fewer) with the largest weight, ascending; of equal weights
/// those with the higher score, of equal scores the lower ones. The result lives in `memory`.
RowList most_weighted(Queue& queue, View<const float> weights, View<const float> scores, int64_t k,
                      BlockVote& memory);

}  // namespace longhaul
