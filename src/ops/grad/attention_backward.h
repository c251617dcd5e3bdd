#pragma once
// The gradient of attention over a whole text whose row i stands at position i, and what else is
// read off the same products. Softmax weights are computed again tile by tile from the lse that the
// forward pass kept (Dao et al. 2022, arXiv:2205.14135, appendix B.4).

#include <cstdint>

#include "base/array.h"

namespace longhaul {

/// Row i sees key j <= i where j < sink or i - j < window. Query heads share KV heads in contiguous
/// groups.
struct TextAttention {
  int64_t tokens = 0;
  int heads = 0, kv_heads = 0, head_dim = 0;
  float scale = 0;  ///< of the logits
  int64_t sink = 0, window = 0;

  int64_t query_width() const { return int64_t{heads} * head_dim; }
  int64_t key_width() const { return int64_t{kv_heads} * head_dim; }
};

/// What the forward pass read and wrote, and the gradient of what it wrote: q, out and d_out
/// [tokens, heads, head_dim], k and v [tokens, kv_heads, head_dim], lse [tokens, heads]; queries
/// and keys as they were multiplied (rotated).
struct AttentionTrace {
  View<const float> q, k, v, out, lse, d_out;
};

/// With P the softmax weights, dP = d_out v and D = d_out . out row by row:
///   dv = P^T d_out,  dS = scale P (dP - D),  dq = dS k,  dk = dS^T q
/// in the shapes of q, k and v; all are added to what is there. Rows whose d_out is zero cost
/// nothing on the host. The same bits on any number of threads.
void attention_backward(Queue& queue, const TextAttention& shape, const AttentionTrace& trace,
                        View<float> dq, View<float> dk, View<float> dv);

/// How much a stretch of pairs (row, key) contributes to what d_out is the gradient of: the sum of
/// P_ij (d_out_i . v_j) over them, which is its derivative by a factor on those weights, and the
/// sum of the magnitudes; over all query heads.
struct PairSums {
  double sum = 0, magnitude = 0;
};

/// TriangleMix's regions of the causal pairs (2025, section 3): j <= sink or i - j <= window; of
/// the rest the last `last` rows; and what remains.
struct ProbedRegions {
  int64_t sink = 64, window = 128, last = 128;
};
struct RegionSums {
  PairSums streaming, last, middle;
};

/// `shape` must be causal without a window that cuts (window >= tokens), and `trace.out` is not
/// read.
RegionSums attention_regions(Queue& queue, const TextAttention& shape, const AttentionTrace& trace,
                             const ProbedRegions& regions);

}  // namespace longhaul
