#pragma once
// Gradient kernels on a CUDA device, for the operations of ops/grad/attention_backward.h,
// rms_norm_backward.h and swiglu_backward.h, and of ops/attention/gate_mix.h.

#include <cstdint>

#include "ops/attention/gate_mix.h"
#include "ops/core/gpu/stream.h"
#include "ops/grad/attention_backward.h"

namespace longhaul::cuda {

/// Converts x [tokens, heads, head_dim] to bf16 and groups it by KV head. `packed` is [kv_heads,
/// room, group, head_dim], where `room` is at least the number of tokens, and `group` is the number
/// of query heads per KV head. If `out` is not null, also writes the dot product of x and `out` in
/// each head to means [tokens, heads].
void pack_heads(Stream stream, const TextAttention& shape, int64_t room, const float* x,
                const float* out, uint16_t* packed, float* means);
/// Adds `packed` [kv_heads, count, group, head_dim] to tokens [begin, begin + count) of x [tokens,
/// heads, head_dim].
void add_unpacked(Stream stream, const TextAttention& shape, const float* packed, int64_t begin,
                  int64_t count, float* x);

/// Matrix products of rows [token, token + tokens) of a text and keys [key, key + keys), for all
/// heads. Each array is [kv_heads, tokens, group, stride], with one number per pair of a row and a
/// key. `stride` is a multiple of 8.
struct PairTile {
  int64_t token = 0, tokens = 0, key = 0, keys = 0, stride = 0;
  /// `scores` has the dot products of queries and keys, and d_weights those of d_out and values.
  const float *scores = nullptr, *d_weights = nullptr;
  const float *lse = nullptr, *means = nullptr;  ///< [all tokens, heads]; `lse` has the logs of the
                                                 ///< softmax denominators, and `means` the dot
                                                 ///< products of d_out and out
};
/// Computes the softmax weights of the pairs and the gradients with respect to their scores, both
/// in bf16. Pairs that are not visible get zeros.
void pair_gradients(Stream stream, const TextAttention& shape, const PairTile& tile,
                    uint16_t* weights, uint16_t* d_scores);
/// Adds the contributions of all rows to `sums` [6]: a sum and a magnitude for each region. The
/// keys of the tile must begin at 0. of_rows [kv_heads * tokens * group, 6] is scratch memory for
/// the contribution of each row.
void add_regions(Stream stream, const TextAttention& shape, const PairTile& tile,
                 const ProbedRegions& regions, double* of_rows, double* sums);

void rms_norm_backward(Stream stream, const float* x, const float* weight, float eps,
                       const float* dy, int64_t rows, int64_t n, float* dx, bool add);
void swiglu_backward(Stream stream, const float* gate, const float* up, const float* dy,
                     int64_t count, float* d_gate, float* d_up);

void mix_gated(Stream stream, const GatedRows& shape, const float* gates, const float* full,
               const float* near, float* out);
void scale_heads(Stream stream, const GatedRows& shape, const float* factors, const float* x,
                 float* out);
/// Number of partial sums of gate_gradients(). Each partial sum covers a part of the rows: `sums`
/// is [kGateParts, kv_heads].
inline constexpr int kGateParts = 32;
void gate_gradients(Stream stream, const GatedRows& shape, const float* d_mixed, const float* full,
                    const float* near, float* sums);

}  // namespace longhaul::cuda
