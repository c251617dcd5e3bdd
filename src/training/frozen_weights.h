#pragma once
// FrozenWeights multiplies the rows of a whole text by a model's weights, forward and backward. The
// weights are those of the file on the host, or a device's copies.

#include <memory>
#include <span>

#include "model/device_model.h"
#include "model/model.h"
#include "ops/matmul/linear.h"

namespace longhaul {

class FrozenWeights {
 public:
  enum class Matrix : uint8_t { kQ, kK, kV, kOutput, kGate, kUp, kDown };
  /// Computes y [rows, outputs] = x W^T with bias and adapter, or adds the product to y if `add` is
  /// true.
  struct Product {
    Matrix matrix;
    View<float> y;
    bool add = false;
  };

  /// Returns the weights on the host. `model` must outlive the result.
  static std::unique_ptr<FrozenWeights> on_host(const Model& model, Compute compute);
  /// Returns the weights on a device. pass_back() of the result throws UserError if the device does
  /// not support this operation.
  static std::unique_ptr<FrozenWeights> on_device(std::shared_ptr<const DeviceModel> model);
  virtual ~FrozenWeights() = default;

  const Model& model() const { return model_; }
  Queue& queue() { return queue_; }

  /// Writes the embedded tokens to x [tokens, hidden].
  virtual void embed(std::span<const int32_t> tokens, View<float> x) = 0;

  // The next three functions set the input rows of the following products. normalise() uses the
  // normalised rows of x [rows, hidden], take() uses x [rows, width] unchanged, and gate() uses the
  // activation of gate and up [rows, ffn]. x must remain valid until the last of these products.
  virtual void normalise(int layer, RowNorm norm, View<const float> x, int64_t rows) = 0;
  virtual void take(View<const float> x, int64_t rows) = 0;
  virtual void gate(View<const float> gate, View<const float> up, int64_t rows) = 0;
  virtual void multiply(int layer, std::span<const Product> products) = 0;
  /// Computes dx [rows, cols] = dy W, or adds dy W to dx if `add` is true. dy [rows, outputs] are
  /// the rows that were given to take().
  virtual void pass_back(int layer, Matrix matrix, View<float> dx, bool add) = 0;

  /// Returns the weight of the norm.
  virtual View<const float> norm(int layer, RowNorm norm) const = 0;
  /// Returns the weight that normalises every head of kQ or kK. The result is empty if there is
  /// none.
  virtual View<const float> head_norm(int layer, Matrix matrix) const = 0;
  virtual void normalise_heads(int layer, Matrix matrix, View<float> x, int64_t rows,
                               int heads) = 0;
  /// Changes the order of the elements of Q or K rows from the file's order to the order of RoPE.
  /// In the file's order, the two elements of a rotary pair are adjacent. In the order of RoPE,
  /// they are half the rotary width apart. If `back` is true, the function does the opposite. On a
  /// device the function does nothing, because the weights already have the order of RoPE.
  virtual void split_pairs(View<float> /*x*/, int64_t /*rows*/, int /*heads*/, bool /*back*/) {}

 protected:
  FrozenWeights(const Model& model, Queue queue) : model_(model), queue_(std::move(queue)) {}

  const Model& model_;
  Queue queue_;
};

}  // namespace longhaul
