// Frozen weights on a device: the products of model/device_decoder.h, and the products of the
// backward pass.

#include "base/error.h"
#include "training/frozen_weights.h"

namespace longhaul {
namespace {

using Matrix = FrozenWeights::Matrix;

constexpr DeviceWeight DeviceLayer::*kCopied[] = {
    &DeviceLayer::q,    &DeviceLayer::k,  &DeviceLayer::v,   &DeviceLayer::output,
    &DeviceLayer::gate, &DeviceLayer::up, &DeviceLayer::down};

class DeviceWeights final : public FrozenWeights {
 public:
  explicit DeviceWeights(std::shared_ptr<const DeviceModel> of)
      : FrozenWeights(of->model(), of->queue()), weights_(std::move(of)) {
    input_ = ops().input();
    low_input_ = ops().input();
  }

  void embed(std::span<const int32_t> tokens, View<float> x) override {
    ops().embed(weights_->embedding(), tokens, 1, x);
  }

  void normalise(int layer, RowNorm norm, View<const float> x, int64_t rows) override {
    begin(rows);
    ops().rms_norm(x, this->norm(layer, norm), model_.config.norm_eps, rows, model_.config.hidden,
                   *input_);
  }
  void take(View<const float> x, int64_t rows) override {
    begin(rows);
    ops().take(x, rows, x.size() / rows, *input_);
  }
  void gate(View<const float> gate, View<const float> up, int64_t rows) override {
    begin(rows);
    ops().swiglu(gate, up, {}, rows, model_.config.ffn, *input_);
  }

  void multiply(int layer, std::span<const Product> products) override {
    std::vector<DeviceLinear> all;
    for (const Product& product : products) {
      const DeviceWeight& w = weight(layer, product.matrix);
      all.push_back({w.matrix.get(), product.y, w.bias.view(), product.add});
    }
    ops().linear(*input_, all);
    for (const Product& product : products) {
      const DeviceAdapter& adapter = weight(layer, product.matrix).adapter;
      if (adapter.a == nullptr) continue;
      const DeviceLinear down{adapter.a.get(), low_rows(adapter), {}, false};
      ops().linear(*input_, {&down, 1});
      ops().take(low_.view(), rows_, adapter.a->rows(), *low_input_);
      const DeviceLinear back{adapter.b.get(), product.y, {}, true};
      ops().linear(*low_input_, {&back, 1});
    }
  }
  void pass_back(int layer, Matrix matrix, View<float> dx, bool add) override {
    const DeviceWeight& w = weight(layer, matrix);
    multiply_back(*input_, *w.matrix, add, dx);
    if (w.adapter.a == nullptr) return;
    multiply_back(*input_, *w.adapter.b, false, low_rows(w.adapter));
    ops().take(low_.view(), rows_, w.adapter.a->rows(), *low_input_);
    multiply_back(*low_input_, *w.adapter.a, true, dx);
  }

  View<const float> norm(int layer, RowNorm norm) const override {
    return weights_->layer(layer).norm(norm).view();
  }
  View<const float> head_norm(int layer, Matrix matrix) const override {
    const DeviceLayer& w = weights_->layer(layer);
    return (matrix == Matrix::kQ ? w.q_norm : w.k_norm).view();
  }
  void normalise_heads(int layer, Matrix matrix, View<float> x, int64_t rows, int heads) override {
    ops().rms_norm_heads(x, head_norm(layer, matrix), model_.config.norm_eps, rows, heads,
                         model_.config.head_dim);
  }

 private:
  DeviceOps& ops() const { return queue_.device().ops(); }
  const DeviceWeight& weight(int layer, Matrix matrix) const {
    return weights_->layer(layer).*kCopied[static_cast<size_t>(matrix)];
  }
  void begin(int64_t rows) { rows_ = rows; }
  /// Memory for the rows times an adapter's first matrix: [rows, rank].
  View<float> low_rows(const DeviceAdapter& adapter) {
    return low_.resize(queue_, rows_ * adapter.a->rows());
  }
  void multiply_back(const DeviceInput& dy, const DeviceMatrix& matrix, bool add,
                     View<float> dx) const {
    ops().linear_back(dy, matrix, add, dx);
  }

  std::shared_ptr<const DeviceModel> weights_;
  std::unique_ptr<DeviceInput> input_, low_input_;
  int64_t rows_ = 0;  // rows of the input
  Array<float> low_;
};

}  // namespace

std::unique_ptr<FrozenWeights> FrozenWeights::on_device(std::shared_ptr<const DeviceModel> model) {
  return std::make_unique<DeviceWeights>(std::move(model));
}

}  // namespace longhaul
