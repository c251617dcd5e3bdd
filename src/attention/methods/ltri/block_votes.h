#pragma once
// Selects blocks by votes of several heads (Ltri-LLM, arXiv:2412.04757, section 3.5). Each head
// adds its weight to the blocks that score best for this head.

#include "ops/core/row_list.h"

namespace longhaul {

/// Adds `weight` to weights[i] for each i of `chosen`.
void add_weight(Queue& queue, const RowList& chosen, float weight, View<float> weights);
inline const DeviceOperation<bool(View<const int32_t> chosen, float, View<float> weights)>
    kAddWeight;

/// Buffers of a vote, reused between calls.
struct BlockVote {
  Array<int32_t> order;
};

/// Returns the k blocks with the largest weights in ascending order, or all blocks if there are
/// fewer. If weights are equal, the block with the higher score is preferred, and for equal scores
/// the block with the lower number. The result is stored in `memory`.
RowList most_weighted(Queue& queue, View<const float> weights, View<const float> scores, int64_t k,
                      BlockVote& memory);
/// Writes the selected blocks to `rows`. There are more blocks than are selected.
inline const DeviceOperation<bool(View<const float> weights, View<const float> scores,
                                  View<int32_t> rows)>
    kMostWeighted;

/// The votes of the heads in one pass.
class BlockVotes {
 public:
  /// Resets to no votes on `blocks` blocks.
  void clear(Queue& queue, int64_t blocks);
  bool any() const { return any_; }
  /// Adds the vote of a head for the blocks `chosen`. `scores` has this head's scores of all
  /// blocks.
  void add(Queue& queue, const RowList& chosen, float weight, View<const float> scores);
  /// Returns the k blocks with the largest weights. If weights are equal, the block that has the
  /// higher score for the most recent head is preferred. The result is valid until the next call.
  RowList best(Queue& queue, int64_t k);

 private:
  bool any_ = false;
  Array<float> weights_;  ///< per block: sum of the weights of the heads that chose it
  Array<float> latest_;   ///< per block: its score for the most recent head
  BlockVote memory_;
};

}  // namespace longhaul
