// Frozen weights on the host.

#include <algorithm>

#include "base/nth.h"
#include "base/parallel.h"
#include "ops/core/rms_norm.h"
#include "ops/core/swiglu.h"
#include "ops/grad/transposed_weight.h"
#include "ops/matmul/dequantize.h"
#include "training/frozen_weights.h"

namespace longhaul {
namespace {

using Matrix = FrozenWeights::Matrix;

constexpr TensorView LayerWeights::*kStored[] = {
    &LayerWeights::q,    &LayerWeights::k,  &LayerWeights::v,   &LayerWeights::output,
    &LayerWeights::gate, &LayerWeights::up, &LayerWeights::down};
constexpr LowRank LayerAdapters::*kBeside[] = {
    &LayerAdapters::q,    &LayerAdapters::k,  &LayerAdapters::v,   &LayerAdapters::output,
    &LayerAdapters::gate, &LayerAdapters::up, &LayerAdapters::down};

View<const float> view_of(const std::vector<float>& numbers) {
  return View<const float>(std::span(numbers));
}

class HostWeights final : public FrozenWeights {
 public:
  HostWeights(const Model& model, Compute compute) : FrozenWeights(model, {}), compute_(compute) {}

  void embed(std::span<const int32_t> tokens, View<float> x) override {
    const int64_t hidden = model_.config.hidden;
    float* const to = host(x).data();
    parallel_ranges(std::ssize(tokens), 32, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int32_t token = nth(tokens, r);
        dequantize_row(model_.embedding.type, model_.embedding.row(token), hidden, to + r * hidden);
      }
    });
  }

  void normalise(int layer, RowNorm norm, View<const float> x, int64_t rows) override {
    const int64_t hidden = model_.config.hidden;
    made_.resize(static_cast<size_t>(rows * hidden));
    rms_norm(host(x).data(), norm_of(nth(model_.layers, layer), norm).data(),
             model_.config.norm_eps, rows, hidden, made_.data());
    input_.assign(made_.data(), rows, hidden);
  }
  void take(View<const float> x, int64_t rows) override {
    input_.assign(host(x).data(), rows, x.size() / rows);
  }
  void gate(View<const float> gate, View<const float> up, int64_t rows) override {
    const int64_t ffn = model_.config.ffn;
    made_.resize(static_cast<size_t>(rows * ffn));
    swiglu(host(gate).data(), host(up).data(), rows, ffn, ffn, made_.data());
    input_.assign(made_.data(), rows, ffn);
  }

  void multiply(int layer, std::span<const Product> products) override {
    std::vector<LinearJob> jobs;
    for (const Product& product : products) {
      jobs.push_back({.weight = stored(layer, product.matrix),
                      .y = host(product.y).data(),
                      .bias = bias(layer, product.matrix),
                      .add = product.add,
                      .low_rank = beside(layer, product.matrix)});
    }
    if (jobs.size() == 1) return linear(input_, jobs.front(), compute_);
    linear(input_, jobs, compute_);  // this overload supports no `add`
  }
  void pass_back(int layer, Matrix matrix, View<float> dx, bool add) override {
    const DType type = compute_ == Compute::kF32 ? DType::F32 : DType::BF16;
    const TensorView& turned =
        transposed_.assign(stored(layer, matrix), beside(layer, matrix), type);
    linear(input_, {.weight = turned, .y = host(dx).data(), .add = add}, compute_);
  }

  View<const float> norm(int layer, RowNorm norm) const override {
    return view_of(norm_of(nth(model_.layers, layer), norm));
  }
  View<const float> head_norm(int layer, Matrix matrix) const override {
    const LayerWeights& w = nth(model_.layers, layer);
    return view_of(matrix == Matrix::kQ ? w.q_norm : w.k_norm);
  }
  void normalise_heads(int layer, Matrix matrix, View<float> x, int64_t rows, int heads) override {
    const int head_dim = model_.config.head_dim;
    rms_norm_heads(host(x).data(), host(head_norm(layer, matrix)).data(), model_.config.norm_eps,
                   rows, heads, head_dim, int64_t{heads} * head_dim);
  }

  void split_pairs(View<float> x, int64_t rows, int heads, bool back) override {
    if (!model_.config.interleaved_rope) return;
    const int head_dim = model_.config.head_dim, rotary = model_.config.rope.rotary_dim;
    float* const numbers = host(x).data();
    parallel_ranges(rows, 32, [&](int64_t begin, int64_t end) {
      thread_local Buffer<float> copy;
      copy.resize(static_cast<size_t>(rotary));
      for (int64_t i = begin * heads; i < end * heads; ++i) {
        float* head = numbers + i * head_dim;
        std::copy_n(head, rotary, copy.data());
        for (int t = 0; t < rotary / 2; ++t) {
          const float *from = copy.data() + (back ? t : 2 * t),
                      *next = from + (back ? rotary / 2 : 1);
          head[back ? 2 * t : t] = *from;
          head[back ? 2 * t + 1 : t + rotary / 2] = *next;
        }
      }
    });
  }

 private:
  const TensorView& stored(int layer, Matrix matrix) const {
    return nth(model_.layers, layer).*kStored[static_cast<size_t>(matrix)];
  }
  const LowRank* beside(int layer, Matrix matrix) const {
    if (model_.adapters.empty()) return nullptr;
    const LowRank& adapter = nth(model_.adapters, layer).*kBeside[static_cast<size_t>(matrix)];
    return adapter.empty() ? nullptr : &adapter;
  }
  const float* bias(int layer, Matrix matrix) const {
    const LayerWeights& w = nth(model_.layers, layer);
    if (matrix > Matrix::kV) return nullptr;
    const std::vector<float>& b = matrix == Matrix::kQ   ? w.q_bias
                                  : matrix == Matrix::kK ? w.k_bias
                                                         : w.v_bias;
    return b.empty() ? nullptr : b.data();
  }

  Compute compute_;
  Buffer<float> made_;
  LinearInput input_;
  TransposedWeight transposed_;
};

}  // namespace

std::unique_ptr<FrozenWeights> FrozenWeights::on_host(const Model& model, Compute compute) {
  return std::make_unique<HostWeights>(model, compute);
}

}  // namespace longhaul
