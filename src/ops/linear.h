#pragma once
// y = x W^T for weights of any stored type: few rows stream the quantized weights (matvec.h), many
// rows expand a panel of them at a time, to bf16 for the matrix unit (cpu/panel_gemm.h) or to f32 for
// the GEMM library.

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "base/float_types.h"
#include "base/tensor_view.h"
#include "ops/matvec.h"

namespace longhaul {

enum class Compute : uint8_t {
  kBest,  ///< bf16 products where the CPU has them (AVX512-BF16, AMX), else f32
  kF32,   ///< f32 products; for reference
};

/// Rows that several matrices are applied to; other forms (bf16, int8) are made once, on demand.
/// x: [rows, cols] f32, packed; must stay in place and unchanged while this is in use.
class LinearInput {
 public:
  void assign(const float* x, int64_t rows, int64_t cols);

  /// Rows that are made column block by column block and kept as bf16 only: begin_columns(), then
  /// set_columns() for every column, each once. For multiplies_in_bf16() and many rows.
  void begin_columns(int64_t rows, int64_t cols);
  /// x: [rows, count] packed; begin and count are multiples of 32, but for the last columns.
  void set_columns(int64_t begin, int64_t count, const float* x);

  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  const float* f32() const { return f32_; }
  const bf16_t* tiles();  ///< bf16, in tiles (cpu/panel_gemm.h): [ceil(rows/32) * 2, ceil(cols/32)]
  ActivationRows& few();  ///< rows() <= kMatvecMaxRows

 private:
  const float* f32_ = nullptr;
  int64_t rows_ = 0, cols_ = 0;
  bool has_tiles_ = false;
  Buffer<bf16_t> tiles_;
  ActivationRows few_;
};

struct LinearJob {
  TensorView weight;            ///< [outputs, cols]
  float* y = nullptr;           ///< [rows, outputs], rows y_stride floats apart
  int64_t y_stride = 0;         ///< 0: outputs
  const float* bias = nullptr;  ///< [outputs]; may be null
};

/// True when `compute` multiplies in bf16 for many rows at the ISA level in force.
bool multiplies_in_bf16(Compute compute);

void linear(LinearInput& x, std::span<const LinearJob> jobs, Compute compute);
void linear(LinearInput& x, const LinearJob& job, Compute compute);

/// Bytes that expanded panels of matrices with up to `most_cols` columns take on all threads: a
/// part of the memory forecast.
size_t linear_scratch_bytes(int64_t most_cols);

/// C[m, n] = A[m, k] B[n, k]^T in f32 through the GEMM library, on the calling thread; rows of C
/// `c_stride` apart.
void gemm_f32(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c,
              int64_t c_stride);

}  // namespace longhaul
