#pragma once
// Gradient kernels on a CUDA device (ops/grad/attention_backward.h, rms_norm_backward.h,
// swiglu_backward.h, gate_mix.h).

#include <cstdint>

#include "ops/attention/gate_mix.h"
#include "ops/core/gpu/stream.h"
#include "ops/grad/attention_backward.h"

namespace longhaul::cuda {

/// Converts x [tokens, heads, head_dim] to bf16 and groups it by KV head: packed is [kv_heads,
/// room, group, head_dim], where `room` is at least the number of tokens. Unless `out` is null,
/// also writes the dot product of x and `out` in each head to means [tokens, heads].
void pack_heads(Stream stream, const TextAttention& shape, int64_t room, const float* x,
                const float* out, uint16_t* packed, float* means);
/// Adds packed [kv_heads, count, group, head_dim] to tokens [begin, begin + count) of x [tokens,
/// heads, head_dim].
void add_unpacked(Stream stream, const TextAttention& shape, const float* packed, int64_t begin,
                  int64_t count, float* x);

/// Products of rows [token, token + tokens) of a text and keys [key, key + keys), for all heads.
/// Each array is [kv_heads, tokens, group, stride]. `stride` is a multiple of 8.
struct PairTile {
  int64_t token = 0, tokens = 0, key = 0, keys = 0, stride = 0;
  /// Dot products of queries and keys, and of d_out and values.
  const float *scores = nullptr, *d_weights = nullptr;
  const float *lse = nullptr, *means = nullptr;  ///< [all tokens, heads]
};
/// Computes the softmax weights and the gradients of scores. Pairs that are not visible get zeros.
void pair_gradients(Stream stream, const TextAttention& shape, const PairTile& tile,
                    uint16_t* weights, uint16_t* d_scores);
/// Adds the contributions of all rows to `sums` [6], two sums per region. The keys of the tile must
/// begin at 0. of_rows [kv_heads * tokens * group, 6] is scratch for the contribution of each row.
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
/// Number of partial sums of gate_gradients(). Each covers a part of the rows: sums is [kGateParts,
/// kv_heads].
inline constexpr int kGateParts = 32;
void gate_gradients(Stream stream, const GatedRows& shape, const float* d_mixed, const float* full,
                    const float* near, float* sums);

}  // namespace longhaul::cuda
