#pragma once
// FrozenWeights performs the operations of FrozenLayer that use weights, in the forward pass and in
// the backward pass. There is one implementation for weights on the host, and one for their copies
// on a device.

#include <memory>
#include <span>

#include "model/device_model.h"
#include "model/model.h"
#include "ops/matmul/linear.h"

namespace longhaul {

class FrozenWeights {
 public:
  enum class Matrix : uint8_t { kQ, kK, kV, kOutput, kGate, kUp, kDown };
  /// A matrix multiplication y = x W^T, with the bias and the adapter of W if there are any. x
  /// [rows, inputs] are the input rows (see normalise()), and y is [rows, outputs]. If `add` is
  /// true, the result is added to y.
  struct Product {
    Matrix matrix;
    View<float> y;
    bool add = false;
  };

  /// Returns the weights on the host. `model` must outlive the result.
  static std::unique_ptr<FrozenWeights> on_host(const Model& model, Compute compute);
  /// Returns the weights on a device. Its pass_back() throws UserError if the device does not
  /// support the operation.
  static std::unique_ptr<FrozenWeights> on_device(std::shared_ptr<const DeviceModel> model);
  virtual ~FrozenWeights() = default;

  const Model& model() const { return model_; }
  Queue& queue() { return queue_; }

  /// Writes the embeddings of the tokens to x [tokens, hidden].
  virtual void embed(std::span<const int32_t> tokens, View<float> x) = 0;

  // The next three functions set the input rows for the following calls of multiply() and
  // pass_back(). normalise() sets the normalised rows of x [rows, hidden]. take() sets x [rows,
  // width] unchanged. gate() sets the product of the activation of `gate` and `up`, both [rows,
  // ffn]. x must remain valid until the last of these calls.
  virtual void normalise(int layer, RowNorm norm, View<const float> x, int64_t rows) = 0;
  virtual void take(View<const float> x, int64_t rows) = 0;
  virtual void gate(View<const float> gate, View<const float> up, int64_t rows) = 0;
  virtual void multiply(int layer, std::span<const Product> products) = 0;
  /// Computes dx [rows, inputs] = dy W, or adds dy W to dx if `add` is true. dy [rows, outputs] are
  /// the input rows, which take() must have set.
  virtual void pass_back(int layer, Matrix matrix, View<float> dx, bool add) = 0;

  /// Returns the weight vector of a norm.
  virtual View<const float> norm(int layer, RowNorm norm) const = 0;
  /// Returns the weight vector of the norm that is applied to every head of queries (kQ) or keys
  /// (kK). The result is empty if the model has no such norm.
  virtual View<const float> head_norm(int layer, Matrix matrix) const = 0;
  virtual void normalise_heads(int layer, Matrix matrix, View<float> x, int64_t rows,
                               int heads) = 0;
  /// Changes the order of the elements in queries or keys. RoPE rotates pairs of elements. In some
  /// model files the two elements of a pair are adjacent, but the rotations here expect them to be
  /// half the rotary width apart. If `back` is true, restores the order of the file. On a device
  /// the function does nothing, because the weights there already have the expected order.
  virtual void split_pairs(View<float> /*x*/, int64_t /*rows*/, int /*heads*/, bool /*back*/) {}

 protected:
  FrozenWeights(const Model& model, Queue queue) : model_(model), queue_(std::move(queue)) {}

  const Model& model_;
  Queue queue_;
};

}  // namespace longhaul
