#pragma once
// The operations that every device must have: matrix products, and what a model computes between
// them. Each mirrors the host operation of the same name, on device memory. All other operations
// are declared beside those of the host (base/device_table.h).

#include <memory>
#include <span>

#include "base/array.h"
#include "base/tensor_view.h"
#include "ops/attention/query_growth.h"
#include "ops/core/compute.h"
#include "ops/core/row_kind.h"
#include "ops/core/swiglu.h"
#include "ops/matmul/expert_choice.h"

namespace longhaul {

/// A weight matrix [rows, cols] in device memory, in the format of the device's products.
class DeviceMatrix {
 public:
  virtual ~DeviceMatrix() = default;
  virtual int64_t rows() const = 0;
  virtual int64_t cols() const = 0;
  virtual size_t bytes() const = 0;  ///< size in device memory
};

/// Input rows [rows, cols] of matrix products, in the formats of the device's products. They are
/// made once for all products of a sublayer, and their memory is reused by the next.
class DeviceInput {
 public:
  virtual ~DeviceInput() = default;
  /// From now on the input has rows of this kind. Up to kMostDecodeRows decode rows are multiplied
  /// by the weights as they are stored, prefill rows of such a number by expanded ones.
  virtual void set_row_kind(RowKind) {}
  static constexpr int64_t kMostDecodeRows = 64;
};

/// y [rows, outputs] = x W^T (+ bias), or y += x W^T.
struct DeviceLinear {
  const DeviceMatrix* weight = nullptr;
  View<float> y;
  View<const float> bias;  ///< [outputs]; empty: none
  bool add = false;
  bool exact = false;  ///< at least bf16 precision, whatever the input's precision
};

/// The experts of a layer (ops/matmul/experts.h). Per role, all experts' matrices are concatenated
/// by rows.
struct DeviceExperts {
  struct Role {
    const DeviceMatrix* weight = nullptr;
    View<const float> bias;  ///< one number per row of `weight`; empty: none
  };
  int count = 0, used = 0;  ///< number of experts, and number of experts used by each row
  ExpertRule rule;          ///< its lists lie on the device
  Gating gating;
  Role gate, up;  ///< [count * ffn, hidden]
  Role down;      ///< [count * hidden, ffn]
};

class DeviceOps {
 public:
  virtual ~DeviceOps() = default;

  /// Concatenates matrices of one type and width by rows. Returns null if the type is not
  /// supported.
  virtual std::shared_ptr<const DeviceMatrix> matrix(std::span<const TensorView>) = 0;
  /// `Compute` is the precision for prefill. Throws UserError if the device does not support it.
  virtual std::unique_ptr<DeviceInput> input(Compute = Compute::kBest) = 0;
  /// Multiplies the input's rows by several matrices.
  virtual void linear(const DeviceInput&, std::span<const DeviceLinear>) = 0;
  /// Computes dx [rows, cols] = dy W for the input rows [rows, outputs], or adds it to dx.
  virtual void linear_back(const DeviceInput& dy, const DeviceMatrix&, bool add,
                           View<float> dx) = 0;
  /// Writes the rows of the table for `tokens`, multiplied by `scale`, to x [tokens, cols].
  virtual void embed(const DeviceMatrix& table, std::span<const int32_t> tokens, float scale,
                     View<float> x) = 0;
  /// With one head it normalises whole rows.
  virtual void rms_norm_heads(View<float> x, View<const float> weight, float eps, int64_t rows,
                              int heads, int head_dim) = 0;
  virtual void grow_queries(View<float> q, int64_t rows, int64_t n, int64_t first,
                            const QueryGrowth&) = 0;
  /// Adds scale * y to x [rows, n]. Each row of y is normalised first, unless `weight` is empty.
  virtual void add_scaled(View<const float> y, View<const float> weight, float eps, float scale,
                          int64_t rows, int64_t n, View<float> x) = 0;
  virtual void scale_and_cap(View<float> x, float scale, float cap) = 0;
  /// Writes the output of the experts for the input's rows to y [rows, hidden], or adds it to y.
  /// `logits` [rows, count] select the experts.
  virtual void mix_experts(const DeviceInput&, View<const float> logits, const DeviceExperts&,
                           View<float> y, bool add) = 0;

  // These functions fill an input of rows [rows, n]. x may be aliased: do not modify it before the
  // input's last product is queued. Weights, including those of a norm, may be read before earlier
  // queued work has ended.
  virtual void rms_norm(View<const float> x, View<const float> weight, float eps, int64_t rows,
                        int64_t n, DeviceInput&) = 0;
  virtual void swiglu(View<const float> gate, View<const float> up, const Gating&, int64_t rows,
                      int64_t n, DeviceInput&) = 0;
  virtual void take(View<const float> x, int64_t rows, int64_t n, DeviceInput&) = 0;
  /// swiglu() of the products of x's rows with two matrices without bias. For prefill the
  /// intermediate results are only bf16, which halves their memory traffic. For a single row they
  /// never leave the product's kernel. `gate_room` and `up_room` have room for [x.rows(),
  /// gate.rows()] f32 and belong to the input. Returns false if linear() and swiglu() are as fast.
  virtual bool gated_products(const DeviceInput& /*x*/, const DeviceMatrix& /*gate*/,
                              const DeviceMatrix& /*up*/, const Gating&, View<float> /*gate_room*/,
                              View<float> /*up_room*/, DeviceInput&) {
    return false;
  }
};

}  // namespace longhaul
