#pragma once
// Elementwise operations on rows in device memory, as defined in ops/core/add.h, ops/core/swiglu.h,
// ops/core/convert.h, ops/core/fill.h, ops/attention/merge_attention.h,
// ops/attention/query_growth.h and ops/core/soft_cap.h. Sizes and addresses are arbitrary. Accesses
// have 16 bytes if all addresses and strides of a call allow it.

#include <cstdint>

#include "ops/attention/query_growth.h"
#include "ops/core/gpu/stream.h"
#include "ops/core/swiglu.h"
#include "ops/matmul/int8_rows.gpu.h"

namespace longhaul::cuda {

/// Adds x[r, i], and bias[i] unless `bias` is null, to y[r, i]. x and y are [rows, n], packed.
void add(Stream stream, float* y, const float* x, int64_t rows, int64_t n,
         const float* bias = nullptr);
/// Adds bias[i] to y[r, i]. Rows of y are `stride` floats apart.
void add_bias(Stream stream, float* y, const float* bias, int64_t rows, int64_t n, int64_t stride);

/// Computes y[r, i] = gated(gate[r, i], up[r, i]). y [rows, n] is packed, in f32 or bf16. Rows of
/// gate and up are `stride` elements apart. If stride == n, a y of their type may alias gate or up.
void swiglu(Stream stream, const float* gate, const float* up, int64_t rows, int64_t n,
            int64_t stride, float* y, const Gating& gating = {});
void swiglu(Stream stream, const float* gate, const float* up, int64_t rows, int64_t n,
            int64_t stride, uint16_t* y, const Gating& gating = {});
void swiglu(Stream stream, const uint16_t* gate, const uint16_t* up, int64_t rows, int64_t n,
            int64_t stride, uint16_t* y, const Gating& gating = {});

/// Gate and up are packed. n is a multiple of 32. All addresses are multiples of 16 bytes.
void swiglu(Stream stream, const float* gate, const float* up, int64_t rows, int64_t n,
            const ProductRows& y, const Gating& gating = {});
/// Rows are packed. n is a multiple of 32. All addresses are multiples of 16 bytes.
void f32_to_product_rows(Stream stream, const float* x, int64_t rows, int64_t n,
                         const ProductRows& y);

void f32_to_bf16(Stream stream, const float* x, int64_t count, uint16_t* y);
void bf16_to_f32(Stream stream, const uint16_t* x, int64_t count, float* y);

void fill(Stream stream, float* x, int64_t count, float value);
void copy(Stream stream, const float* from, int64_t count, float* to);

/// Computes out[i] = sum over l of x[l * n + i] for i in [0, n), in the order of the `lists` lists.
/// add_lists() adds the sum to out.
void sum_lists(Stream stream, const float* x, int64_t lists, int64_t n, float* out);
void add_lists(Stream stream, const float* x, int64_t lists, int64_t n, float* out);

/// Adds scale * x[i] to y[i].
void add_scaled(Stream stream, const float* x, float scale, int64_t count, float* y);
/// x[i] *= scale; then x[i] = cap * tanh(x[i] / cap) if cap > 0.
void scale_and_cap(Stream stream, float* x, int64_t count, float scale, float cap);
/// x [rows, n] is packed. Row r has position first + r.
void grow_queries(Stream stream, float* x, int64_t rows, int64_t n, int64_t first,
                  const QueryGrowth& growth);

/// Merges out [vectors, head_dim] and lse [vectors] with the results over another set of keys. A
/// vector that saw no key of one set (lse = -infinity) gets the other set's result.
void merge_attention(Stream stream, const float* other_out, const float* other_lse, int64_t vectors,
                     int head_dim, float* out, float* lse);

}  // namespace longhaul::cuda
