#include "model/model_part.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace longhaul {
namespace {

/// One of `ranks` equal ranges of [0, all).
Columns stretch(int64_t all, int rank, int ranks) {
  return {all * rank / ranks, all * (rank + 1) / ranks - all * rank / ranks};
}

void check_divides(const Model& model, int ranks) {
  const ModelConfig& c = model.config;
  for (const int heads : c.kv_heads) {
    if (heads % ranks == 0) continue;
    user_error("the model has {} KV heads in a layer, which {} devices cannot have between them",
               heads, ranks);
  }
  if (c.qk_norm == QkNorm::kWhole) {
    user_error(
        "{} models normalise the queries of all heads together: they run on one device, not on {}",
        c.architecture, ranks);
  }
}

/// Granularity at which columns of a block type can be divided.
int64_t block_of(const TensorView& matrix) { return traits(matrix.type).block_size; }

/// Ranges of the feed-forward network end at block boundaries of `down`. They end at multiples of
/// 64 columns if every rank still gets some, for alignment.
Columns ffn_columns(const Model& model, int rank, int ranks) {
  int64_t unit = 1;
  for (const LayerWeights& layer : model.layers) {
    if (layer.experts.empty()) unit = std::max(unit, block_of(layer.down));
    for (const ExpertWeights& expert : layer.experts) unit = std::max(unit, block_of(expert.down));
  }
  const int64_t ffn = model.config.ffn;
  if (unit < 64 && ffn % 64 == 0 && ffn / 64 >= ranks) unit = 64;
  if (ffn % unit != 0 || ffn / unit < ranks) {
    user_error(
        "the model's feed-forward part of {} columns in blocks of {} is too small for {} "
        "devices",
        ffn, unit, ranks);
  }
  const Columns units = stretch(ffn / unit, rank, ranks);
  return {units.begin * unit, units.count * unit};
}

class Dealer {
 public:
  Dealer(const Model& model, int rank, int ranks) : whole_(model), rank_(rank), ranks_(ranks) {
    part_.of_down = ffn_columns(model, rank, ranks);
    part_.of_output = stretch(int64_t{model.config.heads} * model.config.head_dim, rank, ranks);
  }

  ModelPart deal() {
    Model& m = part_.model;
    m.config = whole_.config;
    m.config.heads /= ranks_;
    for (int& heads : m.config.kv_heads) heads /= ranks_;
    m.config.ffn = static_cast<int>(part_.of_down.count);
    m.embedding = whole_.embedding;
    m.head = whole_.head;
    m.head_adapter = factors(whole_.head_adapter, whole_.head_adapter.b);
    m.final_norm = whole_.final_norm;
    for (const LayerWeights& layer : whole_.layers) m.layers.push_back(deal(layer));
    for (const LayerAdapters& layer : whole_.adapters) m.adapters.push_back(deal(layer));
    m.shape = whole_.shape;
    m.shape.heads = m.config.heads;
    m.shape.kv_heads = m.config.kv_heads;
    m.shape.rank = rank_;
    m.shape.ranks = ranks_;
    for (size_t layer = 0; layer < m.shape.sinks.size(); ++layer) {
      m.shape.sinks[layer] = std::span<const float>(m.layers[layer].sinks);
    }
    return std::move(part_);
  }

 private:
  /// The rank's rows of a matrix whose rows belong to heads.
  TensorView own(const TensorView& matrix) const {
    const Columns rows = stretch(matrix.rows(), rank_, ranks_);
    return matrix.slice_rows(rows.begin, rows.count);
  }
  std::vector<float> own(const std::vector<float>& values) const {
    const Columns rows = stretch(std::ssize(values), rank_, ranks_);
    return {values.begin() + rows.begin, values.begin() + rows.begin + rows.count};
  }
  TensorView inner(const TensorView& matrix) const {
    return matrix.slice_rows(part_.of_down.begin, part_.of_down.count);
  }
  std::vector<float> inner(const std::vector<float>& values) const {
    if (values.empty()) return {};
    const auto first = values.begin() + part_.of_down.begin;
    return {first, first + part_.of_down.count};
  }
  std::vector<float> once(const std::vector<float>& values) const {
    return rank_ == 0 ? values : std::vector<float>();
  }

  LayerWeights deal(const LayerWeights& from) const {
    LayerWeights to = from;
    to.q = own(from.q);
    to.k = own(from.k);
    to.v = own(from.v);
    to.q_bias = own(from.q_bias);
    to.k_bias = own(from.k_bias);
    to.v_bias = own(from.v_bias);
    to.sinks = own(from.sinks);
    to.output_bias = once(from.output_bias);
    if (from.output.cols() / ranks_ % block_of(from.output) != 0) {
      user_error("{}: {} columns in blocks of {} cannot be dealt to {} devices", from.output.name,
                 from.output.cols(), block_of(from.output), ranks_);
    }
    if (from.experts.empty()) {
      to.gate = inner(from.gate);
      to.up = inner(from.up);
    }
    for (ExpertWeights& expert : to.experts) {
      expert.gate = inner(expert.gate);
      expert.up = inner(expert.up);
      expert.gate_bias = inner(expert.gate_bias);
      expert.up_bias = inner(expert.up_bias);
      expert.down_bias = once(expert.down_bias);
    }
    return to;
  }

  /// The rank's part of the adapters. For a matrix divided by rows, the second factor is divided
  /// likewise. Other adapters stay whole here; DeviceModel takes the columns of the first factor.
  LayerAdapters deal(const LayerAdapters& from) const {
    const auto of_heads = [&](const LowRank& adapter) {
      return adapter.empty() ? LowRank() : factors(adapter, own(adapter.b));
    };
    const auto of_columns = [&](const LowRank& adapter) {
      return adapter.empty() ? LowRank() : factors(adapter, inner(adapter.b));
    };
    return {.q = of_heads(from.q),
            .k = of_heads(from.k),
            .v = of_heads(from.v),
            .output = factors(from.output, from.output.b),
            .gate = of_columns(from.gate),
            .up = of_columns(from.up),
            .down = factors(from.down, from.down.b)};
  }
  /// Replaces the second factor, without the host's converted copy of it.
  static LowRank factors(const LowRank& adapter, const TensorView& b) {
    LowRank part;
    part.a = adapter.a;
    part.b = b;
    part.scale = adapter.scale;
    return part;
  }

  const Model& whole_;
  int rank_, ranks_;
  ModelPart part_;
};

}  // namespace

ModelPart part_of(const Model& model, int rank, int ranks) {
  check_divides(model, ranks);
  return Dealer(model, rank, ranks).deal();
}

std::vector<std::byte> packed(const TensorView& matrix, const Columns& columns) {
  const size_t row = bytes_of(matrix.type, columns.count);
  const size_t skipped = bytes_of(matrix.type, columns.begin);
  std::vector<std::byte> bytes(static_cast<size_t>(matrix.rows()) * row);
  for (int64_t r = 0; r < matrix.rows(); ++r) {
    std::memcpy(bytes.data() + static_cast<size_t>(r) * row, matrix.row(r) + skipped, row);
  }
  return bytes;
}

}  // namespace longhaul
