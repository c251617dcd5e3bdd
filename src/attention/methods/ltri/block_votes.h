#pragma once
// Selects blocks of old tokens by votes of several query heads (Ltri-LLM, arXiv:2412.04757, section
// 3.5). Each head has a weight, and adds it to the blocks that have the highest scores for this
// head.

#include "ops/core/row_list.h"

namespace longhaul {

/// Adds `weight` to weights[i] for each block number i in `chosen`.
void add_weight(Queue& queue, const RowList& chosen, float weight, View<float> weights);
inline const DeviceOperation<bool(View<const int32_t> chosen, float, View<float> weights)>
    kAddWeight;

/// Buffers of a selection, which are reused between calls.
struct BlockVote {
  Array<int32_t> order;
};

/// Returns the numbers of the k blocks with the largest weights in ascending order, or of all
/// blocks if there are fewer. `weights` and `scores` have one element per block. If weights are
/// equal, the block with the higher score is preferred, and for equal scores the block with the
/// lower number. The result is stored in `memory`.
RowList most_weighted(Queue& queue, View<const float> weights, View<const float> scores, int64_t k,
                      BlockVote& memory);
/// Writes the numbers of the selected blocks to `rows`, whose size is k. There must be more than k
/// blocks.
inline const DeviceOperation<bool(View<const float> weights, View<const float> scores,
                                  View<int32_t> rows)>
    kMostWeighted;

/// The votes of the heads in one pass over some tokens of a prompt.
class BlockVotes {
 public:
  /// Removes all votes. There are `blocks` blocks to vote for.
  void clear(Queue& queue, int64_t blocks);
  bool any() const { return any_; }
  /// Adds the vote of a head with this weight for the blocks `chosen`. `scores` holds the head's
  /// scores of all blocks.
  void add(Queue& queue, const RowList& chosen, float weight, View<const float> scores);
  /// Returns the k blocks with the largest sums of weights, in ascending order. If sums are equal,
  /// the block with the higher score for the last added head is preferred. The result is valid
  /// until the next call.
  RowList best(Queue& queue, int64_t k);

 private:
  bool any_ = false;
  Array<float> weights_;  ///< per block: sum of the weights of the heads that chose it
  Array<float> latest_;   ///< per block: its score for the last added head
  BlockVote memory_;
};

}  // namespace longhaul
