#pragma once
// The operations that every device must implement: matrix products, and the other computations of a
// model between these products. Each operation computes the same as the host operation of the same
// name, but on device memory. An operation that a device need not implement is declared next to its
// host version (base/device_table.h).

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
/// products read. The rows are converted to these formats once and serve all matrix products of a
/// sublayer (attention or feed-forward). The next sublayer reuses the memory of the input.
class DeviceInput {
 public:
  virtual ~DeviceInput() = default;
  /// Sets the kind (ops/core/row_kind.h) of the rows that the input will hold. For up to
  /// kMostDecodeRows decode rows, the products read the weights in their stored (quantized) format.
  /// For the same number of prefill rows, the weights are first converted to 16-bit floats.
  virtual void set_row_kind(RowKind) {}
  static constexpr int64_t kMostDecodeRows = 64;
};

/// One product of linear(): y [rows, outputs] = x W^T + bias. If `add` is true, the result is added
/// to y instead.
struct DeviceLinear {
  const DeviceMatrix* weight = nullptr;
  View<float> y;
  View<const float> bias;  ///< [outputs]; empty: no bias
  bool add = false;
  /// Whether the precision must be at least bf16, even if the input allows a lower one.
  bool exact = false;
};

/// The experts of a layer (ops/matmul/experts.h). The matrices of all experts in one role (gate, up
/// or down) are concatenated by rows into one matrix.
struct DeviceExperts {
  struct Role {
    const DeviceMatrix* weight = nullptr;
    View<const float> bias;  ///< one number per row of `weight`; empty: no bias
  };
  int count = 0, used = 0;  ///< `count` is the number of experts; `used` of them process each row
  ExpertRule rule;          ///< rule for selecting experts; its arrays are in device memory
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
  /// Returns an empty input. `Compute` is the precision of the products that read it in prefill.
  /// Throws UserError if the device does not support this precision.
  virtual std::unique_ptr<DeviceInput> input(Compute = Compute::kBest) = 0;
  /// Computes all given products. Their x is the content of the input.
  virtual void linear(const DeviceInput&, std::span<const DeviceLinear>) = 0;
  /// Computes dx [rows, cols] = dy W, where dy [rows, outputs] is the input. If `add` is true, the
  /// result is added to dx.
  virtual void linear_back(const DeviceInput& dy, const DeviceMatrix&, bool add,
                           View<float> dx) = 0;
  /// Sets x[t] to row tokens[t] of `table`, multiplied by `scale`, for each t. x is [tokens, cols].
  virtual void embed(const DeviceMatrix& table, std::span<const int32_t> tokens, float scale,
                     View<float> x) = 0;
  /// Applies RMS normalisation to each head of each row in place (ops/core/rms_norm.h). If `heads`
  /// is 1, whole rows are normalised.
  virtual void rms_norm_heads(View<float> x, View<const float> weight, float eps, int64_t rows,
                              int heads, int head_dim) = 0;
  /// Multiplies the queries q [rows, n] by a factor that depends on their position
  /// (ops/attention/query_growth.h). Row r has position first + r.
  virtual void grow_queries(View<float> q, int64_t rows, int64_t n, int64_t first,
                            const QueryGrowth&) = 0;
  /// Adds scale * y to x [rows, n]. If `weight` is not empty, RMS normalisation with this weight is
  /// first applied to each row of y.
  virtual void add_scaled(View<const float> y, View<const float> weight, float eps, float scale,
                          int64_t rows, int64_t n, View<float> x) = 0;
  /// Multiplies logits by `scale` and limits them by `cap`, in place (ops/core/soft_cap.h).
  virtual void scale_and_cap(View<float> x, float scale, float cap) = 0;
  /// Writes the output of the experts for the rows of the input to y [rows, hidden]. If `add` is
  /// true, adds it to y instead. The router's `logits` [rows, count] determine which experts
  /// process a row.
  virtual void mix_experts(const DeviceInput&, View<const float> logits, const DeviceExperts&,
                           View<float> y, bool add) = 0;

  // The next four functions write their result [rows, n] to the DeviceInput. The DeviceInput may
  // keep a reference to x instead of a copy. The caller must therefore not modify x until the last
  // matrix product that reads the DeviceInput is queued. A kernel may read weights, including the
  // `weight` of a normalisation, before the kernels queued earlier have ended. No queued kernel may
  // therefore write weights.
  virtual void rms_norm(View<const float> x, View<const float> weight, float eps, int64_t rows,
                        int64_t n, DeviceInput&) = 0;
  virtual void swiglu(View<const float> gate, View<const float> up, const Gating&, int64_t rows,
                      int64_t n, DeviceInput&) = 0;
  /// Sets the rows of the input to x.
  virtual void take(View<const float> x, int64_t rows, int64_t n, DeviceInput&) = 0;
  /// Multiplies x by the matrices gate and up, which have no bias, and writes swiglu() of the two
  /// results to the DeviceInput. In prefill, the two results are stored in bf16 only, which halves
  /// their memory traffic. For a single row, one kernel computes both products and swiglu().
  /// `gate_room` and `up_room` are scratch memory for [x.rows(), gate.rows()] floats each. The
  /// DeviceInput may refer to this memory, which must therefore stay unchanged until the last
  /// product that reads the DeviceInput is queued. Returns false and does nothing if separate calls
  /// of linear() and swiglu() are as fast.
  virtual bool gated_products(const DeviceInput& /*x*/, const DeviceMatrix& /*gate*/,
                              const DeviceMatrix& /*up*/, const Gating&, View<float> /*gate_room*/,
                              View<float> /*up_room*/, DeviceInput&) {
    return false;
  }
};

}  // namespace longhaul
