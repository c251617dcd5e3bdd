#include "model/model_part.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace longhaul {
namespace {

/// Returns the range of `rank` if [0, all) is divided into `ranks` equal ranges.
Columns stretch(int64_t all, int rank, int ranks) {
  return {all * rank / ranks, all * (rank + 1) / ranks - all * rank / ranks};
}

void check_divides(const Model& model, int ranks) {
  const ModelConfig& c = model.config;
  const char* const undivided = !c.recurrent.empty()   ? "recurrent layers"
                                : c.latent.used()      ? "one latent vector for all heads"
                                : !c.head_dims.empty() ? "heads of different sizes"
                                                       : nullptr;
  if (undivided != nullptr) {
    user_error("{} models have {}: they run on one device, not on {}", c.architecture, undivided,
               ranks);
  }
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

/// Returns the number of columns in a quantization block, at whose boundaries columns can be
/// divided.
int64_t block_of(const TensorView& matrix) { return traits(matrix.type).block_size; }

/// Returns the columns of `down` that a rank uses for a feed-forward network of width `ffn`. Ranges
/// end at multiples of `unit` columns (the quantization blocks of `down`), or for alignment at
/// multiples of 64 columns if no rank is then left without columns.
Columns ffn_columns(int64_t ffn, int64_t unit, int rank, int ranks) {
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

/// Returns the columns for networks of width config.ffn: the experts, or the feed-forward networks
/// of all layers.
Columns common_columns(const Model& model, int rank, int ranks) {
  int64_t unit = 1;
  for (const LayerWeights& layer : model.layers) {
    if (model.config.experts == 0) unit = std::max(unit, block_of(layer.down));
    for (const ExpertWeights& expert : layer.experts) unit = std::max(unit, block_of(expert.down));
  }
  return ffn_columns(model.config.ffn, unit, rank, ranks);
}

class Dealer {
 public:
  Dealer(const Model& model, int rank, int ranks) : whole_(model), rank_(rank), ranks_(ranks) {
    part_.of_down = common_columns(model, rank, ranks);
    for (const LayerWeights& layer : model.layers) {
      const bool alike = model.config.experts == 0 || !layer.has_network();
      part_.of_network.push_back(
          alike ? part_.of_down : ffn_columns(layer.up.rows(), block_of(layer.down), rank, ranks));
    }
    part_.of_output = stretch(int64_t{model.config.heads} * model.config.head_dim, rank, ranks);
  }

  ModelPart deal() {
    Model& m = part_.model;
    m.config = whole_.config;
    m.config.heads /= ranks_;
    for (int& heads : m.config.kv_heads) heads /= ranks_;
    m.config.ffn = static_cast<int>(part_.of_down.count);
    m.config.dense_ffn = own_width(m.config.dense_ffn);
    m.config.shared_ffn = own_width(m.config.shared_ffn);
    m.embedding = whole_.embedding;
    m.head = whole_.head;
    m.head_adapter = factors(whole_.head_adapter, whole_.head_adapter.b);
    m.final_norm = whole_.final_norm;
    for (size_t l = 0; l < whole_.layers.size(); ++l) {
      m.layers.push_back(deal(whole_.layers[l], part_.of_network[l]));
    }
    for (size_t l = 0; l < whole_.adapters.size(); ++l) {
      m.adapters.push_back(deal(whole_.adapters[l], part_.of_network[l]));
    }
    m.shape = whole_.shape;
    m.shape.heads = m.config.heads;
    m.shape.kv_heads = m.config.kv_heads;
    m.shape.rank = rank_;
    m.shape.ranks = ranks_;
    for (size_t layer = 0; layer < m.shape.sinks.size(); ++layer) {
      m.shape.sinks[layer] = std::span<const float>(m.layers[layer].sinks);
    }
    for (size_t layer = 0; layer < m.shape.query_weights.size(); ++layer) {
      m.shape.query_weights[layer] = std::span<const float>(m.layers[layer].query_weight);
    }
    return std::move(part_);
  }

 private:
  /// Returns the rank's rows of a matrix whose rows belong to heads.
  TensorView own(const TensorView& matrix) const {
    const Columns rows = stretch(matrix.rows(), rank_, ranks_);
    return matrix.slice_rows(rows.begin, rows.count);
  }
  std::vector<float> own(const std::vector<float>& values) const {
    const Columns rows = stretch(std::ssize(values), rank_, ranks_);
    return {values.begin() + rows.begin, values.begin() + rows.begin + rows.count};
  }
  /// Returns the largest number of columns that this rank uses for a network of width `ffn`.
  int own_width(int ffn) const {
    int64_t width = 0;
    for (size_t l = 0; l < whole_.layers.size(); ++l) {
      const LayerWeights& layer = whole_.layers[l];
      if (layer.has_network() && layer.up.rows() == ffn)
        width = std::max(width, part_.of_network[l].count);
    }
    return static_cast<int>(width);
  }
  static TensorView inner(const TensorView& matrix, const Columns& columns) {
    return matrix.slice_rows(columns.begin, columns.count);
  }
  std::vector<float> inner(const std::vector<float>& values) const {
    if (values.empty()) return {};
    const auto first = values.begin() + part_.of_down.begin;
    return {first, first + part_.of_down.count};
  }
  std::vector<float> once(const std::vector<float>& values) const {
    return rank_ == 0 ? values : std::vector<float>();
  }

  LayerWeights deal(const LayerWeights& from, const Columns& network) const {
    LayerWeights to = from;
    to.q = own(from.q);
    to.k = own(from.k);
    to.v = own(from.v);
    to.q_bias = own(from.q_bias);
    to.k_bias = own(from.k_bias);
    to.v_bias = own(from.v_bias);
    to.sinks = own(from.sinks);
    to.query_weight = from.query_weight;
    to.output_bias = once(from.output_bias);
    if (from.output.cols() / ranks_ % block_of(from.output) != 0) {
      user_error("{}: {} columns in blocks of {} cannot be dealt to {} devices", from.output.name,
                 from.output.cols(), block_of(from.output), ranks_);
    }
    if (from.has_network()) {
      if (from.gate.data != nullptr) to.gate = inner(from.gate, network);
      to.up = inner(from.up, network);
    }
    for (ExpertWeights& expert : to.experts) {
      expert.gate = inner(expert.gate, part_.of_down);
      expert.up = inner(expert.up, part_.of_down);
      expert.gate_bias = inner(expert.gate_bias);
      expert.up_bias = inner(expert.up_bias);
      expert.down_bias = once(expert.down_bias);
    }
    return to;
  }

  /// Returns the rank's part of the adapters. If a matrix is divided by rows, so is the matrix B of
  /// its adapter. Other adapters remain whole here, and DeviceModel selects the columns of A.
  LayerAdapters deal(const LayerAdapters& from, const Columns& network) const {
    const auto of_heads = [&](const LowRank& adapter) {
      return adapter.empty() ? LowRank() : factors(adapter, own(adapter.b));
    };
    const auto of_columns = [&](const LowRank& adapter) {
      return adapter.empty() ? LowRank() : factors(adapter, inner(adapter.b, network));
    };
    return {.q = of_heads(from.q),
            .k = of_heads(from.k),
            .v = of_heads(from.v),
            .output = factors(from.output, from.output.b),
            .gate = of_columns(from.gate),
            .up = of_columns(from.up),
            .down = factors(from.down, from.down.b)};
  }
  /// Returns the adapter with another matrix B. The packed copy of B for the host is omitted.
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
