#pragma once
// How several heads choose blocks together (Ltri-LLM, arXiv:2412.04757, 3.5): each adds its weight
// to the blocks that it would choose itself.

#include "ops/core/row_list.h"

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

/// The votes of the heads of one pass.
class BlockVotes {
 public:
  /// None, on `blocks` blocks.
  void clear(Queue& queue, int64_t blocks);
  bool any() const { return any_; }
  /// A head votes for `chosen`, by its scores of all blocks.
  void add(Queue& queue, const RowList& chosen, float weight, View<const float> scores);
  /// The k blocks with the largest weight; of equal ones those that the latest head scored higher.
  /// Valid until the next.
  RowList best(Queue& queue, int64_t k);

 private:
  bool any_ = false;
  Array<float> weights_;  ///< per block: of the heads that chose it
  Array<float> latest_;   ///< per block: score by the last of them
  BlockVote memory_;
};

}  // namespace longhaul
