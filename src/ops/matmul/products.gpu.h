#pragma once
// Multiplies rows by stored weights. Decode rows are multiplied by the stored weights directly. For
// prefill rows, one matrix at a time is first converted to bf16 or rounded to 8-bit floats.

#include <memory>
#include <span>

#include "ops/matmul/cublas.gpu.h"
#include "ops/matmul/product_forms.gpu.h"

namespace longhaul::cuda {

class Products {
 public:
  explicit Products(GpuQueue& queue)
      : queue_(queue), expanded_(queue), rounded_(queue), partial_(queue), counters_(queue) {}

  void linear(const OwnInput& x, std::span<const DeviceLinear> products);
  /// Computes y [rows, outputs] = x w^T for rows in bf16. If `add` is true, the product is added to
  /// y. All arrays are contiguous.
  void many(const uint16_t* x, int64_t rows, const MatrixView& w, float* y, bool add = false);
  /// Computes y [rows, outputs] = x w^T in bf16. y is contiguous.
  void many_bf16(const OwnInput& x, const OwnMatrix& weight, uint16_t* y);
  /// Computes dx [rows, cols] = dy w, where dy is [rows, outputs]. If `add` is true, the product is
  /// added to dx. All arrays are contiguous.
  void back(const OwnInput& dy, const OwnMatrix& weight, float* dx, bool add);

  Gemm& gemm();
  /// Throws UserError if the GPU or cuBLASLt does not support products of 8-bit floats.
  void require_fp8();

 private:
  /// Weights in bf16. Rows begin `stride` elements apart.
  struct Bf16Rows {
    const uint16_t* numbers;
    int64_t stride;
  };
  void by_gemm(const OwnInput& x, const DeviceLinear& product);
  void by_stored_blocks(const OwnInput& x, std::span<const DeviceLinear> products);
  void by_tiles(const MatvecInput& x, std::span<const MatvecJob> jobs);
  static bool multiplies_fp8(const OwnInput& x, const OwnMatrix& weight);
  Bf16Rows in_bf16(const MatrixView& w);
  Fp8Rows in_fp8(const OwnMatrix& weight);
  void run(GemmCall& call, const OwnInput& x, const OwnMatrix& weight, bool exact = false);
  void run(GemmCall& call, const MatrixView& w);

  GpuQueue& queue_;
  std::unique_ptr<Gemm> gemm_;
  Room expanded_, rounded_;
  Room partial_, counters_;  ///< memory for products in tiles (row_tiles.gpu.h)
};

}  // namespace longhaul::cuda
