#pragma once
// Matrix products for prefill through cuBLASLt, in bf16 or in 8-bit floats with f32 sums.

#include <cstddef>
#include <cstdint>
#include <map>

#include "ops/core/device_room.h"
#include "ops/core/gpu/cublas_library.h"
#include "ops/core/gpu/device_buffer.gpu.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// A product y[r, o] = sum over i of x[r, i] * w[o, i]. It is added to y if `add` is true.
struct GemmCall {
  int64_t rows = 0, outputs = 0, cols = 0;
  const void* x = nullptr;  ///< [rows, cols] bf16; rows are x_stride elements apart
  int64_t x_stride = 0;     ///< elements between rows; 0: cols
  const void* w = nullptr;  ///< [outputs, cols] bf16; rows are w_stride elements apart
  int64_t w_stride = 0;     ///< elements between rows; 0: cols
  bool x_turned = false;    ///< whether x is stored as [cols, rows]
  bool w_turned = false;    ///< whether w is stored as [cols, outputs]
  void* y = nullptr;        ///< [rows, outputs]; rows are y_stride elements apart
  int64_t y_stride = 0;     ///< elements between rows; 0: outputs
  bool bf16_out = false;    ///< whether y is bf16; otherwise it is f32
  bool add = false;         ///< whether the product is added to y
  /// Scales [rows] and [outputs]. Either both are set or none. If they are set, x and w are e4m3
  /// floats whose rows are multiplied by these scales (fp8_rows.gpu.h). In this case, `cols` and
  /// `outputs` must be multiples of 16, and x_turned and w_turned must be false.
  const float *x_scales = nullptr, *w_scales = nullptr;
  /// Number of products in the call. The operands of successive products are x_batch, w_batch and
  /// y_batch elements apart.
  int batch = 1;
  int64_t x_batch = 0, w_batch = 0, y_batch = 0;
};

/// Computes products. Each queue needs its own object, because concurrent calls must not share the
/// workspace.
class Gemm {
 public:
  /// Uses the current device. Throws UserError if the library cannot be initialised.
  explicit Gemm(const CublasLibrary& library, size_t workspace_bytes = kProductWorkspace);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  void run(Stream stream, const GemmCall& call);
  size_t bytes() const { return workspace_.bytes(); }

 private:
  struct Shape {
    int64_t rows, outputs, cols, x_stride, w_stride, y_stride;
    int x_turned, w_turned, bf16_out, add, fp8, batch;
    int64_t x_batch, w_batch, y_batch;
    uint32_t alignment[3];  ///< bytes of w, x and y
    auto operator<=>(const Shape&) const = default;
  };
  struct Plan {
    lt::Layout w = nullptr, x = nullptr, y = nullptr;
    lt::Algorithm algorithm{};
  };

  static Shape shape_of(const GemmCall& call);
  lt::Operation operation(const Shape& s) const {
    return s.fp8 != 0 ? fp8_operation_ : operations_[s.w_turned][s.x_turned];
  }
  lt::Operation make_operation(int w_turned, int x_turned) const;
  void set_scales(const GemmCall& call);
  lt::Layout layout(int type, int64_t rows, int64_t cols, bool turned, int64_t stride,
                    const Shape& shape, int64_t batch_offset) const;
  const Plan& plan_for(const Shape& shape);
  Plan make_plan(const Shape& shape) const;
  lt::Heuristic best(const Shape& shape, const Plan& plan) const;
  void release(const Plan& plan) const;
  void require(int status, const char* what) const;

  const CublasLibrary& library_;
  lt::Handle handle_ = nullptr;
  lt::Operation operations_[2][2] = {};    ///< [w turned][x turned]
  lt::Operation fp8_operation_ = nullptr;  ///< null: not created yet
  DeviceBuffer workspace_;
  std::map<Shape, Plan> plans_;
};

}  // namespace longhaul::cuda
