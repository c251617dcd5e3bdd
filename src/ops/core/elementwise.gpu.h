#pragma once
// Elementwise operations on rows in device memory. They compute the same as the host operations in
// ops/core/add.h, ops/core/swiglu.h, ops/core/convert.h, ops/core/fill.h,
// ops/attention/merge_attention.h, ops/attention/query_growth.h and ops/core/soft_cap.h. They
// accept any size and any address. If all addresses and strides of a call are multiples of 16
// bytes, the kernels access memory in units of 16 bytes, which is faster.

#include <cstdint>
#include <span>

#include "ops/attention/query_growth.h"
#include "ops/core/gpu/stream.h"
#include "ops/core/swiglu.h"
#include "ops/matmul/int8_rows.gpu.h"

namespace longhaul::cuda {

/// Adds x[r, i], and bias[i] unless `bias` is null, to y[r, i]. x and y are contiguous arrays
/// [rows, n].
void add(Stream stream, float* y, const float* x, int64_t rows, int64_t n,
         const float* bias = nullptr);
/// Adds bias[i] to y[r, i]. Row r of y begins at y + r * stride.
void add_bias(Stream stream, float* y, const float* bias, int64_t rows, int64_t n, int64_t stride);

/// Computes y[r, i] = gated(gate[r, i], up[r, i]) (Gating in ops/core/swiglu.h). y is a contiguous
/// array [rows, n] in f32 or bf16. Consecutive rows of gate and up begin `stride` elements apart.
/// If stride == n and y has the same type as gate and up, y may alias one of them.
void swiglu(Stream stream, const float* gate, const float* up, int64_t rows, int64_t n,
            int64_t stride, float* y, const Gating& gating = {});
void swiglu(Stream stream, const float* gate, const float* up, int64_t rows, int64_t n,
            int64_t stride, uint16_t* y, const Gating& gating = {});
void swiglu(Stream stream, const uint16_t* gate, const uint16_t* up, int64_t rows, int64_t n,
            int64_t stride, uint16_t* y, const Gating& gating = {});

/// Like swiglu() above, but writes y in the formats that matrix products read. Rows of gate and up
/// are contiguous. n must be a multiple of 32, and all addresses multiples of 16 bytes.
void swiglu(Stream stream, const float* gate, const float* up, int64_t rows, int64_t n,
            const ProductRows& y, const Gating& gating = {});
/// Converts the contiguous array x [rows, n] to the formats that matrix products read. n must be a
/// multiple of 32, and all addresses multiples of 16 bytes.
void f32_to_product_rows(Stream stream, const float* x, int64_t rows, int64_t n,
                         const ProductRows& y);

void f32_to_bf16(Stream stream, const float* x, int64_t count, uint16_t* y);
void bf16_to_f32(Stream stream, const uint16_t* x, int64_t count, float* y);

void fill(Stream stream, float* x, int64_t count, float value);
void copy(Stream stream, const float* from, int64_t count, float* to);

/// x consists of `lists` arrays of n floats, one after another. sum_lists() sets out[i] to the sum
/// over l of x[l * n + i], added in ascending order of l, for each i < n. add_lists() adds this sum
/// to out[i].
void sum_lists(Stream stream, const float* x, int64_t lists, int64_t n, float* out);
void add_lists(Stream stream, const float* x, int64_t lists, int64_t n, float* out);
/// The arguments of one sum_lists(). sum_groups() computes the sums of all its groups in one
/// launch.
struct ListGroup {
  const float* x;
  int64_t lists, n;
  float* out;
};
void sum_groups(Stream stream, std::span<const ListGroup> groups);

/// Adds scale * x[i] to y[i] for each i < count.
void add_scaled(Stream stream, const float* x, float scale, int64_t count, float* y);
/// Multiplies x[i] by `scale` in place. If cap > 0, x[i] then becomes cap * tanh(x[i] / cap).
void scale_and_cap(Stream stream, float* x, int64_t count, float scale, float cap);
/// Multiplies the rows of x by a factor that depends on their position
/// (ops/attention/query_growth.h). x is a contiguous array [rows, n]. Row r has position first + r.
void grow_queries(Stream stream, float* x, int64_t rows, int64_t n, int64_t first,
                  const QueryGrowth& growth);

/// Merges two attention results for the same queries over disjoint sets of keys. `vectors` is the
/// number of queries: one for each head of each query row. out [vectors, head_dim] and lse
/// [vectors] (logs of the softmax denominators) hold the result over one set and receive the merged
/// result. other_out and other_lse hold the result over the other set. If the lse of a query is
/// -infinity, the query saw no key of that set, and its merged result is that over the other set.
void merge_attention(Stream stream, const float* other_out, const float* other_lse, int64_t vectors,
                     int head_dim, float* out, float* lse);

}  // namespace longhaul::cuda
