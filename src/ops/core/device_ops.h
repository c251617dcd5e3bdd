#pragma once
// The operations that every device must implement: matrix products and the computations of a model
// between them. Each operation computes the same as the host operation of the same name, but on
// device memory. All other operations are declared next to their host version
// (base/device_table.h).

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

/// A weight matrix [rows, cols] in device memory, in the format that the device's matrix products
/// read.
class DeviceMatrix {
 public:
  virtual ~DeviceMatrix() = default;
  virtual int64_t rows() const = 0;
  virtual int64_t cols() const = 0;
  virtual size_t bytes() const = 0;  ///< returns the size in device memory, in bytes
};

/// The left operand [rows, cols] of matrix products, in the formats that the device's matrix
/// products read. An input is prepared once and used by all products of a sublayer (attention or
/// feed-forward). The next sublayer reuses its memory.
class DeviceInput {
 public:
  virtual ~DeviceInput() = default;
  /// Sets the kind of the rows that the input will hold. Up to kMostDecodeRows decode rows are
  /// multiplied by the weights as they are stored. For equally many prefill rows, the weights are
  /// first expanded to 16-bit floats.
  virtual void set_row_kind(RowKind) {}
  static constexpr int64_t kMostDecodeRows = 64;
};

/// Computes y [rows, outputs] = x W^T + bias, or adds x W^T to y if `add` is true.
struct DeviceLinear {
  const DeviceMatrix* weight = nullptr;
  View<float> y;
  View<const float> bias;  ///< [outputs]; empty: no bias
  bool add = false;
  /// Whether to compute at least in bf16, even if the input allows a lower precision.
  bool exact = false;
};

/// The experts of a layer (ops/matmul/experts.h). The matrices of all experts in one role (gate, up
/// or down) are concatenated by rows into one matrix.
struct DeviceExperts {
  struct Role {
    const DeviceMatrix* weight = nullptr;
    View<const float> bias;  ///< one value per row of `weight`; empty: no bias
  };
  int count = 0, used = 0;  ///< number of experts, and number of experts used by each row
  ExpertRule rule;          ///< rule for selecting experts; the arrays are in device memory
  Gating gating;
  /// [count * ffn, hidden]. Without a gate, `gate` has no weight, and the result is gated(x, x) of
  /// the products x with `up`.
  Role gate, up;
  Role down;  ///< [count * hidden, ffn]
};

class DeviceOps {
 public:
  virtual ~DeviceOps() = default;

  /// Returns a device copy of the given matrices, concatenated by rows. All matrices must have the
  /// same type and number of columns. Returns null if the device does not support the type.
  virtual std::shared_ptr<const DeviceMatrix> matrix(std::span<const TensorView>) = 0;
  /// Returns an empty input. `Compute` is the precision of its matrix products in prefill. Throws
  /// UserError if the device does not support this precision.
  virtual std::unique_ptr<DeviceInput> input(Compute = Compute::kBest) = 0;
  /// Multiplies the rows of the input by several matrices.
  virtual void linear(const DeviceInput&, std::span<const DeviceLinear>) = 0;
  /// Computes dx [rows, cols] = dy W, where dy [rows, outputs] is the input. If `add` is true, the
  /// product is added to dx.
  virtual void linear_back(const DeviceInput& dy, const DeviceMatrix&, bool add,
                           View<float> dx) = 0;
  /// Copies the rows `tokens` of the table to x [tokens, cols], multiplied by `scale`.
  virtual void embed(const DeviceMatrix& table, std::span<const int32_t> tokens, float scale,
                     View<float> x) = 0;
  /// Normalises each head of each row in place (ops/core/rms_norm.h). If `heads` is 1, whole rows
  /// are normalised.
  virtual void rms_norm_heads(View<float> x, View<const float> weight, float eps, int64_t rows,
                              int heads, int head_dim) = 0;
  /// Scales the queries by their position (ops/attention/query_growth.h).
  virtual void grow_queries(View<float> q, int64_t rows, int64_t n, int64_t first,
                            const QueryGrowth&) = 0;
  /// Adds scale * y to x [rows, n]. If `weight` is not empty, each row of y is normalised first.
  virtual void add_scaled(View<const float> y, View<const float> weight, float eps, float scale,
                          int64_t rows, int64_t n, View<float> x) = 0;
  /// Scales and caps logits in place (ops/core/soft_cap.h).
  virtual void scale_and_cap(View<float> x, float scale, float cap) = 0;
  /// Writes the output of the experts for the rows of the input to y [rows, hidden], or adds it to
  /// y. The router's `logits` [rows, count] determine which experts process a row.
  virtual void mix_experts(const DeviceInput&, View<const float> logits, const DeviceExperts&,
                           View<float> y, bool add) = 0;

  // The next four functions write their result [rows, n] to the DeviceInput. The input may refer to
  // x instead of a copy of x. The caller must therefore not modify x before the input's last matrix
  // product is queued. A kernel may read weights, including `weight` of a norm, before earlier
  // queued kernels have ended. Queued kernels must therefore not write weights.
  virtual void rms_norm(View<const float> x, View<const float> weight, float eps, int64_t rows,
                        int64_t n, DeviceInput&) = 0;
  virtual void swiglu(View<const float> gate, View<const float> up, const Gating&, int64_t rows,
                      int64_t n, DeviceInput&) = 0;
  /// Sets the rows of the input to x.
  virtual void take(View<const float> x, int64_t rows, int64_t n, DeviceInput&) = 0;
  /// Multiplies x by gate and up, two matrices without bias, and writes swiglu() of the two
  /// products to the input. In prefill, the two products are stored in bf16 only, which halves
  /// their memory traffic. For a single row, one kernel computes both products and swiglu().
  /// `gate_room` and `up_room` are scratch memory for [x.rows(), gate.rows()] floats each. The
  /// result may refer to them, so they must stay unchanged until the result's last product is
  /// queued. Returns false and does nothing if separate calls of linear() and swiglu() are as fast.
  virtual bool gated_products(const DeviceInput& /*x*/, const DeviceMatrix& /*gate*/,
                              const DeviceMatrix& /*up*/, const Gating&, View<float> /*gate_room*/,
                              View<float> /*up_room*/, DeviceInput&) {
    return false;
  }
};

}  // namespace longhaul
