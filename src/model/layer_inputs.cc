#include "model/layer_inputs.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "ops/core/add.h"
#include "ops/core/rms_norm.h"
#include "ops/matmul/dequantize.h"

namespace longhaul {

void LayerInputs::begin(const Model& model, std::span<const int32_t> tokens, const float* embedded,
                        RowKind kind, Compute compute) {
  const ModelConfig& c = model.config;
  rows_ = std::ssize(tokens), width_ = c.layer_input;
  const int64_t all = c.layers * width_;
  inputs_.resize(static_cast<size_t>(rows_ * all));
  projected_.resize(static_cast<size_t>(rows_ * all));
  input_.set_row_kind(kind);
  input_.assign(embedded, rows_, c.hidden);
  linear(input_, LinearJob{.weight = model.layer_projection, .y = projected_.data()}, compute);
  const float shrink = 1 / std::sqrt(static_cast<float>(c.hidden));
  const float grow = std::sqrt(static_cast<float>(width_)), half = std::sqrt(0.5f);
  parallel_ranges(rows_, 4, [&](int64_t begin, int64_t end) {
    thread_local Buffer<float> table;
    table.resize(static_cast<size_t>(all));
    for (int64_t r = begin; r < end; ++r) {
      float* const row = projected_.data() + r * all;
      for (int64_t i = 0; i < all; ++i) row[i] *= shrink;
      rms_norm(row, model.layer_projection_norm.data(), c.norm_eps, c.layers, width_, row);
      const TensorView& tokens_of = model.layer_embedding;
      dequantize_row(tokens_of.type, tokens_of.row(nth(tokens, r)), all, table.data());
      for (int layer = 0; layer < c.layers; ++layer) {
        float* const to = of(layer) + r * width_;
        const int64_t from = layer * width_;
        for (int64_t i = 0; i < width_; ++i) {
          to[i] = (row[from + i] + table.data()[from + i] * grow) * half;
        }
      }
    }
  });
}

void LayerInputs::move(int layer, int64_t from, int64_t to) {
  std::copy_n(of(layer) + from * width_, width_, of(layer) + to * width_);
}

void LayerInputs::add(const Model& model, int layer, int64_t rows, RowKind kind, Compute compute,
                      float* stream) {
  const ModelConfig& c = model.config;
  const LayerWeights& w = nth(model.layers, layer);
  gates_.resize(static_cast<size_t>(rows * width_));
  added_.resize(static_cast<size_t>(rows * c.hidden));
  input_.set_row_kind(kind);
  input_.assign(stream, rows, c.hidden);
  linear(input_, LinearJob{.weight = w.input_gate, .y = gates_.data()}, compute);
  swiglu(gates_.data(), of(layer), rows, width_, width_, gates_.data(), c.gating);
  inner_.set_row_kind(kind);
  inner_.assign(gates_.data(), rows, width_);
  linear(inner_, LinearJob{.weight = w.input_output, .y = added_.data()}, compute);
  rms_norm(added_.data(), w.input_norm.data(), c.norm_eps, rows, c.hidden, added_.data());
  add_scaled(stream, added_.data(), rows * c.hidden, 1);
}

size_t LayerInputs::row_bytes(const ModelConfig& c) {
  const auto width = static_cast<size_t>(c.layer_input);
  if (width == 0) return 0;
  // Both inputs of multiplications may also be stored in a second format.
  return (2 * static_cast<size_t>(c.layers) * width + 3 * width +
          2 * static_cast<size_t>(c.hidden)) *
         sizeof(float);
}

}  // namespace longhaul
