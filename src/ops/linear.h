#pragma once
// y = x W^T for weights of any stored type: few rows stream the quantized weights (matvec.h), many
// rows expand a panel of them at a time and call the GEMM library.

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
  /// Rows that exist as bf16 only (rows > kMatvecMaxRows and products in bf16).
  void assign(const bf16_t* x, int64_t rows, int64_t cols);

  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  const float* f32() const { return f32_; }
  const bf16_t* bf16();
  ActivationRows& few();  ///< rows() <= kMatvecMaxRows
  size_t buffer_bytes() const { return converted_.capacity_bytes(); }

 private:
  const float* f32_ = nullptr;
  const bf16_t* bf16_ = nullptr;
  int64_t rows_ = 0, cols_ = 0;
  Buffer<bf16_t> converted_;
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

/// Bytes that expanded panels take at most: a part of the memory forecast.
size_t linear_scratch_bytes();

/// C[m, n] = A[m, k] B[n, k]^T through the GEMM library; rows of C `c_stride` apart. For the bench's
/// measurement of the machine's peak as well.
void gemm_bf16(int64_t m, int64_t n, int64_t k, const bf16_t* a, const bf16_t* b, float* c,
               int64_t c_stride);
void gemm_f32(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c,
              int64_t c_stride);

}  // namespace longhaul
