#pragma once
// Computes the gradient of attention over a whole text, in which row i has position i. The same
// products also yield the sums of attention_regions(). The softmax weights are computed again, tile
// by tile, from the logs of the softmax denominators of the forward pass (lse) (Dao et al. 2022,
// arXiv:2205.14135, appendix B.4).

#include <cstdint>
#include <optional>

#include "base/array.h"

namespace longhaul {

/// The shape and visibility of the attention. Row i sees key j if j <= i, and if j < sink or
/// i - j < window. Contiguous groups of query heads share a KV head.
struct TextAttention {
  int64_t tokens = 0;
  int heads = 0, kv_heads = 0, head_dim = 0;
  float scale = 0;  ///< factor by which dot products are multiplied to give logits
  int64_t sink = 0, window = 0;

  int64_t query_width() const { return int64_t{heads} * head_dim; }
  int64_t key_width() const { return int64_t{kv_heads} * head_dim; }
};

/// The inputs and outputs of the forward pass, and the gradient d_out of the loss with respect to
/// its output. q, out and d_out are [tokens, heads, head_dim], k and v are [tokens, kv_heads,
/// head_dim], and lse is [tokens, heads]. RoPE has been applied to queries and keys.
struct AttentionTrace {
  View<const float> q, k, v, out, lse, d_out;
};

/// Adds the gradients of the loss with respect to q, k and v to dq, dk and dv, which have the
/// shapes of q, k and v. P are the softmax weights, dP = d_out v^T, and D is the dot product of
/// d_out and out in each row:
///   dv = P^T d_out,  dS = scale P (dP - D),  dq = dS k,  dk = dS^T q
/// On the host, rows whose d_out is zero are skipped. The result is bitwise the same for any number
/// of threads.
void attention_backward(Queue& queue, const TextAttention& shape, const AttentionTrace& trace,
                        View<float> dq, View<float> dk, View<float> dv);
inline const DeviceOperation<bool(const TextAttention&, const AttentionTrace&, View<float> dq,
                                  View<float> dk, View<float> dv)>
    kAttentionBackward;

/// The contribution of a set of (row, key) pairs to the quantity whose gradient is d_out. `sum` is
/// the sum of P_ij * (d_out_i . v_j) over the pairs and all query heads. It is the derivative of
/// the quantity with respect to a factor by which all softmax weights P_ij of these pairs are
/// multiplied. `magnitude` is the sum of the absolute values of the same terms.
struct PairSums {
  double sum = 0, magnitude = 0;
};

/// The three regions into which TriangleMix (2025, section 3) divides the causal pairs of row i and
/// key j. The first (streaming) has the pairs with j <= sink or i - j <= window. The second (last)
/// has the other pairs of the last `last` rows. The third (middle) has all remaining pairs.
struct ProbedRegions {
  int64_t sink = 64, window = 128, last = 128;
};
struct RegionSums {
  PairSums streaming, last, middle;
};

/// Returns the contributions of the three regions. `shape` must be causal: its window must exclude
/// no key (window >= tokens). `trace.out` is not read.
RegionSums attention_regions(Queue& queue, const TextAttention& shape, const AttentionTrace& trace,
                             const ProbedRegions& regions);
inline const DeviceOperation<std::optional<RegionSums>(const TextAttention&, const AttentionTrace&,
                                                       const ProbedRegions&)>
    kAttentionRegions;

}  // namespace longhaul
