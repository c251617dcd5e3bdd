#pragma once
// Selects blocks by the votes of several heads (Ltri-LLM, arXiv:2412.04757, 3.5). Each head adds
// its weight to the blocks with the best scores of this head.

#include "ops/core/row_list.h"

namespace longhaul {

/// Adds `weight` to weights[i] for each i of `chosen`.
void add_weight(Queue& queue, const RowList& chosen, float weight, View<float> weights);
inline const DeviceOperation<bool(View<const int32_t> chosen, float, View<float> weights)>
    kAddWeight;

/// Memory of a vote, reused from call to call.
struct BlockVote {
  Array<int32_t> order;
};

/// Returns the k blocks with the largest weight in ascending order, or all blocks if there are
/// fewer. Of equal weights the higher score wins, then the lower block. The result is stored in
/// `memory`.
RowList most_weighted(Queue& queue, View<const float> weights, View<const float> scores, int64_t k,
                      BlockVote& memory);
/// There are more weights than rows.
inline const DeviceOperation<bool(View<const float> weights, View<const float> scores,
                                  View<int32_t> rows)>
    kMostWeighted;

/// The votes of the heads of one pass.
class BlockVotes {
 public:
  /// Resets to no votes on `blocks` blocks.
  void clear(Queue& queue, int64_t blocks);
  bool any() const { return any_; }
  /// Adds the vote of a head for `chosen`, with its scores of all blocks.
  void add(Queue& queue, const RowList& chosen, float weight, View<const float> scores);
  /// Returns the k blocks with the largest weight. Of equal weights the higher score of the latest
  /// head wins. The result is valid until the next call.
  RowList best(Queue& queue, int64_t k);

 private:
  bool any_ = false;
  Array<float> weights_;  ///< per block: sum of weights of the heads that chose it
  Array<float> latest_;   ///< per block: score by the latest head
  BlockVote memory_;
};

}  // namespace longhaul
