#include <cuda_runtime.h>

#include "base/assert.h"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/core/gpu/kernel_views.cuh"
#include "ops/matmul/expand.gpu.h"

namespace longhaul::cuda {
namespace {

constexpr int kThreads = 256;

/// The type's code book in shared memory, or null.
template <class Units>
__device__ const uint32_t* shared_book(const Planes& planes) {
  if constexpr (Units::kBook == 0) {
    return nullptr;
  } else {
    __shared__ uint32_t book[Units::kBook];
    for (int i = threadIdx.x; i < Units::kBook; i += kThreads) book[i] = __ldg(planes.book + i);
    __syncthreads();
    return book;
  }
}

/// Reads eight neighbouring weights, number `eight` of the matrix. At least four threads read the
/// same 16 bytes of quants, which are then in the first-level cache.
template <class Units>
__device__ void eight_weights(const Planes& planes, const uint32_t* book, int64_t eight,
                              float* values) {
  constexpr int kEights = Units::kBlock / 8;
  const int64_t block = eight / kEights;
  const int in_block = static_cast<int>(eight % kEights);
  const GroupPlace place = Units::place(in_block / 2);
  const Weights16 w =
      weights_of<Units>(Units::load(planes, block, place.u), place.u, place.k, book);
  const bool second = in_block & 1;
  const uint32_t q[2] = {second ? w.q[2] : w.q[0], second ? w.q[3] : w.q[1]};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    values[i] = w.step * static_cast<float>(signed_byte(q[i / 4], i % 4) - Units::kZero) + w.offset;
  }
}

__device__ Word4 to_bf16(const float* values) {
  Word4 out;
#pragma unroll
  for (int i = 0; i < 4; ++i) out.w[i] = two_bf16(values[2 * i], values[2 * i + 1]);
  return out;
}

template <class Units>
__global__ void __launch_bounds__(kThreads)
    expand_blocks(Planes planes, int64_t first, int64_t count, Word4* out) {
  const uint32_t* const book = shared_book<Units>(planes);
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x; i < count;
       i += step) {
    float values[8];
    eight_weights<Units>(planes, book, first + i, values);
    out[i] = to_bf16(values);
  }
}

/// Reads eight elements from column 8 * eight on. Values past the last column are zeros.
template <class Plain>
__device__ void eight_elements(const uint8_t* row, int64_t cols, int64_t eight, float* values) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int64_t col = 8 * eight + i;
    values[i] = col < cols ? Plain::one(row + col * Plain::kBytes) : 0.0f;
  }
}

template <class Plain>
__global__ void __launch_bounds__(kThreads)
    expand_plain(const uint8_t* rows, size_t row_stride, int64_t cols, int64_t eights,
                 int64_t count, Word4* out) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x; i < count;
       i += step) {
    float values[8];
    eight_elements<Plain>(rows + i / eights * row_stride, cols, i % eights, values);
    out[i] = to_bf16(values);
  }
}

/// The token of this thread block's row. For an invalid token the row is zeroed and -1 returned.
__device__ int64_t token_or_zeros(const int32_t* tokens, int64_t table_rows, int64_t cols,
                                  float* out) {
  const int64_t token = tokens[blockIdx.x];
  if (token >= 0 && token < table_rows) return token;
  for (int64_t i = threadIdx.x; i < cols; i += kThreads) out[i] = 0.0f;
  return -1;
}

template <class Units>
__global__ void __launch_bounds__(kThreads)
    embed_blocks(Planes planes, int64_t table_rows, int64_t cols, const int32_t* tokens,
                 float* out) {
  out += blockIdx.x * cols;
  const int64_t token = token_or_zeros(tokens, table_rows, cols, out);
  if (token < 0) return;
  for (int64_t i = threadIdx.x; i < cols / 8; i += kThreads) {
    float values[8];
    eight_weights<Units>(planes, planes.book, token * (cols / 8) + i, values);
    for (int k = 0; k < 8; ++k) out[8 * i + k] = values[k];
  }
}

template <class Plain>
__global__ void __launch_bounds__(kThreads)
    embed_plain(const uint8_t* rows, size_t row_stride, int64_t table_rows, int64_t cols,
                const int32_t* tokens, float* out) {
  out += blockIdx.x * cols;
  const int64_t token = token_or_zeros(tokens, table_rows, cols, out);
  if (token < 0) return;
  const uint8_t* row = rows + static_cast<size_t>(token) * row_stride;
  for (int64_t i = threadIdx.x; i < cols; i += kThreads) {
    out[i] = Plain::one(row + i * Plain::kBytes);
  }
}

const uint8_t* bytes(const std::byte* p) { return reinterpret_cast<const uint8_t*>(p); }

}  // namespace

void expand_bf16(Stream stream, const MatrixView& matrix, int64_t begin, int64_t count,
                 uint16_t* out) {
  LH_ASSERT(begin >= 0 && count >= 0 && begin + count <= matrix.rows);
  const int64_t eights = bf16_stride_of(matrix.cols) / 8, all = count * eights;
  if (all == 0) return;
  const unsigned grid = blocks_for(all, kThreads);
  auto* words = reinterpret_cast<Word4*>(out);
  if (is_block_type(matrix.type)) {
    const bool known = with_units(matrix.type, [&](auto units) {
      using Units = decltype(units);
      expand_blocks<Units>
          <<<grid, kThreads, 0, stream>>>(planes_of(matrix), begin * eights, all, words);
    });
    LH_ASSERT(known);
  } else {
    const uint8_t* first = bytes(matrix.planes[0]) + static_cast<size_t>(begin) * matrix.row_stride;
    with_plain(matrix.type, [&](auto plain) {
      using Plain = decltype(plain);
      expand_plain<Plain><<<grid, kThreads, 0, stream>>>(first, matrix.row_stride, matrix.cols,
                                                         eights, all, words);
    });
  }
  check_launch("expand_bf16");
}

void embed_rows(Stream stream, const MatrixView& table, const int32_t* tokens, int64_t rows,
                float* out) {
  if (rows == 0 || table.cols == 0) return;
  const auto grid = static_cast<unsigned>(rows);
  if (is_block_type(table.type)) {
    const bool known = with_units(table.type, [&](auto units) {
      using Units = decltype(units);
      embed_blocks<Units>
          <<<grid, kThreads, 0, stream>>>(planes_of(table), table.rows, table.cols, tokens, out);
    });
    LH_ASSERT(known);
  } else {
    with_plain(table.type, [&](auto plain) {
      using Plain = decltype(plain);
      embed_plain<Plain><<<grid, kThreads, 0, stream>>>(bytes(table.planes[0]), table.row_stride,
                                                        table.rows, table.cols, tokens, out);
    });
  }
  check_launch("embed_rows");
}

}  // namespace longhaul::cuda
