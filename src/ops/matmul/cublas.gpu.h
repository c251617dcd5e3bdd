#pragma once
// Matrix products for prefill through cuBLASLt. The operands are bf16 or 8-bit floats, and the sums
// are f32.

#include <cstddef>
#include <cstdint>
#include <map>

#include "ops/core/device_room.h"
#include "ops/core/gpu/cublas_library.h"
#include "ops/core/gpu/device_buffer.gpu.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// The product y[r, o] = sum over i of x[r, i] * w[o, i]. If `add` is true, it is added to y.
struct GemmCall {
  int64_t rows = 0, outputs = 0, cols = 0;
  const void* x = nullptr;  ///< [rows, cols] in bf16; see x_stride
  int64_t x_stride = 0;     ///< elements between the beginnings of two rows; 0: cols
  const void* w = nullptr;  ///< [outputs, cols] in bf16; see w_stride
  int64_t w_stride = 0;     ///< elements between the beginnings of two rows; 0: cols
  bool x_turned = false;    ///< whether x is stored transposed, as [cols, rows]
  bool w_turned = false;    ///< whether w is stored transposed, as [cols, outputs]
  void* y = nullptr;        ///< [rows, outputs]; see y_stride
  int64_t y_stride = 0;     ///< elements between the beginnings of two rows; 0: outputs
  bool bf16_out = false;    ///< whether y is bf16; otherwise it is f32
  bool add = false;         ///< whether the product is added to y
  /// Scales of x [rows] and of w [outputs]. Either both are set or neither. If they are set, x and
  /// w are e4m3 floats, and each row is multiplied by its scale (fp8_rows.gpu.h). In this case,
  /// `cols` and `outputs` must be multiples of 16, and x_turned and w_turned must be false.
  const float *x_scales = nullptr, *w_scales = nullptr;
  /// Number of products in the call. The arrays of consecutive products begin x_batch, w_batch and
  /// y_batch elements apart.
  int batch = 1;
  int64_t x_batch = 0, w_batch = 0, y_batch = 0;
};

/// Computes matrix products. Each queue needs its own object, because concurrent calls must not
/// share the workspace.
class Gemm {
 public:
  /// Runs on the current device. Throws UserError if the library cannot be initialised.
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
    uint32_t alignment[3];  ///< alignment in bytes of w, x and y
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
  lt::Operation operations_[2][2] = {};    ///< [w transposed][x transposed]
  lt::Operation fp8_operation_ = nullptr;  ///< null: not created yet
  DeviceBuffer workspace_;
  std::map<Shape, Plan> plans_;
};

}  // namespace longhaul::cuda
