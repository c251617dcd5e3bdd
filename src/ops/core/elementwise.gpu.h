#pragma once
// Operations on every element of rows in device memory, as ops/core/add.h, ops/core/swiglu.h,
// ops/core/convert.h, ops/core/fill.h, ops/attention/merge_attention.h,
// ops/attention/query_growth.h and ops/core/soft_cap.h define them. Any sizes and addresses; 16
// bytes at a time where all of a call's addresses and strides allow it.

#include <cstdint>

#include "ops/attention/query_growth.h"
#include "ops/core/gpu/stream.h"
#include "ops/core/swiglu.h"
#include "ops/matmul/int8_rows.gpu.h"

namespace longhaul::cuda {

/// y[r, i] += x[r, i] (+ bias[i] unless null); [rows, n] packed.
void add(Stream stream, float* y, const float* x, int64_t rows, int64_t n,
         const float* bias = nullptr);
/// y[r, i] += bias[i], rows of y `stride` floats apart.
void add_bias(Stream stream, float* y, const float* bias, int64_t rows, int64_t n, int64_t stride);

/// y[r, i] = gated(gate[r, i], up[r, i]), y [rows, n] packed, f32 or bf16; rows of gate and up
/// `stride` numbers apart. With stride == n, a y of their type may be gate or up.
void swiglu(Stream stream, const float* gate, const float* up, int64_t rows, int64_t n,
            int64_t stride, float* y, const Gating& gating = {});
void swiglu(Stream stream, const float* gate, const float* up, int64_t rows, int64_t n,
            int64_t stride, uint16_t* y, const Gating& gating = {});
void swiglu(Stream stream, const uint16_t* gate, const uint16_t* up, int64_t rows, int64_t n,
            int64_t stride, uint16_t* y, const Gating& gating = {});

/// Gate and up packed; n a multiple of 32; all at multiples of 16 bytes.
void swiglu(Stream stream, const float* gate, const float* up, int64_t rows, int64_t n,
            const ProductRows& y, const Gating& gating = {});
/// Packed rows; n a multiple of 32; all at multiples of 16 bytes.
void f32_to_product_rows(Stream stream, const float* x, int64_t rows, int64_t n,
                         const ProductRows& y);

void f32_to_bf16(Stream stream, const float* x, int64_t count, uint16_t* y);
void bf16_to_f32(Stream stream, const uint16_t* x, int64_t count, float* y);

void fill(Stream stream, float* x, int64_t count, float value);
void copy(Stream stream, const float* from, int64_t count, float* to);

/// out[i] = sum over l of x[l * n + i] for i in [0, n), in the order of the `lists` lists;
/// add_lists: added to what is there.
void sum_lists(Stream stream, const float* x, int64_t lists, int64_t n, float* out);
void add_lists(Stream stream, const float* x, int64_t lists, int64_t n, float* out);

/// y[i] += scale * x[i].
void add_scaled(Stream stream, const float* x, float scale, int64_t count, float* y);
/// x[i] *= scale, and then cap * tanh(x[i] / cap) where cap > 0.
void scale_and_cap(Stream stream, float* x, int64_t count, float scale, float cap);
/// x [rows, n] packed, row r at position first + r.
void grow_queries(Stream stream, float* x, int64_t rows, int64_t n, int64_t first,
                  const QueryGrowth& growth);

/// out [vectors, head_dim] and lse [vectors], of one set of keys, become those of both; a vector
/// that saw nothing of a set (lse = -infinity) gets the other's result.
void merge_attention(Stream stream, const float* other_out, const float* other_lse, int64_t vectors,
                     int head_dim, float* out, float* lse);

}  // namespace longhaul::cuda
