#pragma once
// Products of a model's weights with the rows of a whole text, forward and backward. The weights
// are the file's on the host, or a device's copies.

#include <memory>
#include <span>

#include "model/device_model.h"
#include "model/model.h"
#include "ops/matmul/linear.h"

namespace longhaul {

class FrozenWeights {
 public:
  enum class Matrix : uint8_t { kQ, kK, kV, kOutput, kGate, kUp, kDown };
  /// y [rows, outputs] = x W^T with bias and adapter, or y += x W^T.
  struct Product {
    Matrix matrix;
    View<float> y;
    bool add = false;
  };

  /// `model` must outlive it.
  static std::unique_ptr<FrozenWeights> on_host(const Model& model, Compute compute);
  /// Its pass_back() throws UserError if the device has no such products.
  static std::unique_ptr<FrozenWeights> on_device(std::shared_ptr<const DeviceModel> model);
  virtual ~FrozenWeights() = default;

  const Model& model() const { return model_; }
  Queue& queue() { return queue_; }

  virtual void embed(std::span<const int32_t> tokens, View<float> x) = 0;

  // These three set the input rows of the next products: normalised x [rows, hidden], x [rows,
  // width] as it is, or the activation of gate and up [rows, ffn]. x must remain valid until then.
  virtual void normalise(int layer, RowNorm norm, View<const float> x, int64_t rows) = 0;
  virtual void take(View<const float> x, int64_t rows) = 0;
  virtual void gate(View<const float> gate, View<const float> up, int64_t rows) = 0;
  virtual void multiply(int layer, std::span<const Product> products) = 0;
  /// dx [rows, cols] = dy W, or dx += dy W, for the rows dy [rows, outputs] given to take().
  virtual void pass_back(int layer, Matrix matrix, View<float> dx, bool add) = 0;

  virtual View<const float> norm(int layer, RowNorm norm) const = 0;  ///< the norm's weight
  /// The weight that normalises every head of kQ or kK; empty: none.
  virtual View<const float> head_norm(int layer, Matrix matrix) const = 0;
  virtual void normalise_heads(int layer, Matrix matrix, View<float> x, int64_t rows,
                               int heads) = 0;
  /// Moves the two elements of rotary pairs, adjacent in the products of Q and K, half the rotary
  /// width apart, or back (`back`). A device's weights already have this order.
  virtual void split_pairs(View<float> /*x*/, int64_t /*rows*/, int /*heads*/, bool /*back*/) {}

 protected:
  FrozenWeights(const Model& model, Queue queue) : model_(model), queue_(std::move(queue)) {}

  const Model& model_;
  Queue queue_;
};

}  // namespace longhaul
