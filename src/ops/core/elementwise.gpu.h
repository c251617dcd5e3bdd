#pragma once
// Elementwise operations on rows in device memory. They compute the same as the host operations in
// ops/core/add.h, ops/core/swiglu.h, ops/core/convert.h, ops/core/fill.h,
// ops/attention/merge_attention.h, ops/attention/query_growth.h and ops/core/soft_cap.h. Sizes and
// addresses are arbitrary. If all addresses and strides of a call are multiples of 16 bytes, memory
// is accessed in units of 16 bytes.

#include <cstdint>
#include <span>

#include "ops/attention/query_growth.h"
#include "ops/core/gpu/stream.h"
#include "ops/core/swiglu.h"
#include "ops/matmul/int8_rows.gpu.h"

namespace longhaul::cuda {

/// Adds x[r, i], and bias[i] unless `bias` is null, to y[r, i]. x and y are [rows, n], packed.
void add(Stream stream, float* y, const float* x, int64_t rows, int64_t n,
         const float* bias = nullptr);
/// Adds bias[i] to y[r, i]. Row r of y begins at y + r * stride.
void add_bias(Stream stream, float* y, const float* bias, int64_t rows, int64_t n, int64_t stride);

/// Computes y[r, i] = gated(gate[r, i], up[r, i]). y [rows, n] is packed, in f32 or bf16. Rows of
/// gate and up are `stride` elements apart. If stride == n and y has the same type as gate and up,
/// y may alias one of them.
void swiglu(Stream stream, const float* gate, const float* up, int64_t rows, int64_t n,
            int64_t stride, float* y, const Gating& gating = {});
void swiglu(Stream stream, const float* gate, const float* up, int64_t rows, int64_t n,
            int64_t stride, uint16_t* y, const Gating& gating = {});
void swiglu(Stream stream, const uint16_t* gate, const uint16_t* up, int64_t rows, int64_t n,
            int64_t stride, uint16_t* y, const Gating& gating = {});

/// Like swiglu() above, with y in the formats of matrix products. gate and up are packed. n is a
/// multiple of 32. All addresses are multiples of 16 bytes.
void swiglu(Stream stream, const float* gate, const float* up, int64_t rows, int64_t n,
            const ProductRows& y, const Gating& gating = {});
/// Converts x [rows, n] to the formats of matrix products. x is packed. n is a multiple of 32. All
/// addresses are multiples of 16 bytes.
void f32_to_product_rows(Stream stream, const float* x, int64_t rows, int64_t n,
                         const ProductRows& y);

void f32_to_bf16(Stream stream, const float* x, int64_t count, uint16_t* y);
void bf16_to_f32(Stream stream, const uint16_t* x, int64_t count, float* y);

void fill(Stream stream, float* x, int64_t count, float value);
void copy(Stream stream, const float* from, int64_t count, float* to);

/// x contains several lists of n values, one after another. Computes out[i] as the sum of x[l * n +
/// i] over lists l in [0, lists), added in this order. i runs from 0 to n - 1. add_lists() adds the
/// sum to out[i].
void sum_lists(Stream stream, const float* x, int64_t lists, int64_t n, float* out);
void add_lists(Stream stream, const float* x, int64_t lists, int64_t n, float* out);
/// The arguments of sum_lists(), for several groups of lists in one launch.
struct ListGroup {
  const float* x;
  int64_t lists, n;
  float* out;
};
void sum_groups(Stream stream, std::span<const ListGroup> groups);

/// Adds scale * x[i] to y[i].
void add_scaled(Stream stream, const float* x, float scale, int64_t count, float* y);
/// Multiplies x[i] by `scale` in place. If cap > 0, x[i] then becomes cap * tanh(x[i] / cap).
void scale_and_cap(Stream stream, float* x, int64_t count, float scale, float cap);
/// Scales the rows of x by their position (ops/attention/query_growth.h). x [rows, n] is packed.
/// Row r has position first + r.
void grow_queries(Stream stream, float* x, int64_t rows, int64_t n, int64_t first,
                  const QueryGrowth& growth);

/// Merges the attention results over two sets of keys. out [vectors, head_dim] and lse [vectors]
/// hold one result and receive the merged result. A vector is one head of one row. If a vector saw
/// no key of one set (lse = -infinity), it gets the result of the other set.
void merge_attention(Stream stream, const float* other_out, const float* other_lse, int64_t vectors,
                     int head_dim, float* out, float* lse);

}  // namespace longhaul::cuda
