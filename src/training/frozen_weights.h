#pragma once
// A model's weights as the rows of a whole text meet them, forward and backward: those of the file
// on the host, or a device's copies.

#include <memory>
#include <span>

#include "model/device_model.h"
#include "model/model.h"
#include "ops/linear.h"

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
  /// Its pass_back() is a UserError where the device has no such products.
  static std::unique_ptr<FrozenWeights> on_device(std::shared_ptr<const DeviceModel> model);
  virtual ~FrozenWeights() = default;

  const Model& model() const { return model_; }
  Queue& queue() { return queue_; }

  virtual void embed(std::span<const int32_t> tokens, View<float> x) = 0;

  // Rows that the next products read: x [rows, hidden] normalised, x [rows, width] as they are, or
  // what the activation makes of gate and up [rows, ffn]. x must stay until then.
  virtual void normalise(int layer, RowNorm norm, View<const float> x, int64_t rows) = 0;
  virtual void take(View<const float> x, int64_t rows) = 0;
  virtual void gate(View<const float> gate, View<const float> up, int64_t rows) = 0;
  virtual void multiply(int layer, std::span<const Product> products) = 0;
  /// dx [rows, cols] = dy W of the rows dy [rows, outputs] that were taken, or added to dx.
  virtual void pass_back(int layer, Matrix matrix, View<float> dx, bool add) = 0;

  virtual View<const float> norm(int layer, RowNorm norm) const = 0;  ///< its weight
  /// The weight that every head of kQ or kK is normalised with; empty: none.
  virtual View<const float> head_norm(int layer, Matrix matrix) const = 0;
  virtual void normalise_heads(int layer, Matrix matrix, View<float> x, int64_t rows,
                               int heads) = 0;
  /// Pairs that rotate together, neighbours in the products of Q and K, to half a rotation's width
  /// apart, or `back`. A device's weights have them so.
  virtual void split_pairs(View<float> /*x*/, int64_t /*rows*/, int /*heads*/, bool /*back*/) {}

 protected:
  FrozenWeights(const Model& model, Queue queue) : model_(model), queue_(std::move(queue)) {}

  const Model& model_;
  Queue queue_;
};

}  // namespace longhaul
