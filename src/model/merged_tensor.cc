#include "model/merged_tensor.h"

#include <algorithm>

#include "model/merged_rows.h"

namespace longhaul {
namespace {

constexpr size_t kPieceBytes = size_t{4} << 20;

}  // namespace

std::vector<AdaptedRows> adapted_rows(const Model& model) {
  std::vector<AdaptedRows> all;
  const auto add = [&](const TensorView& rows, const LowRank& adapter) {
    if (!adapter.empty()) all.push_back({rows, &adapter});
  };
  for (size_t l = 0; l < model.adapters.size(); ++l) {
    const LayerWeights& w = model.layers[l];
    const LayerAdapters& a = model.adapters[l];
    add(w.q, a.q);
    add(w.k, a.k);
    add(w.v, a.v);
    add(w.output, a.output);
    add(w.gate, a.gate);
    add(w.up, a.up);
    add(w.down, a.down);
  }
  if (model.head.data != model.embedding.data) add(model.head, model.head_adapter);
  return all;
}

std::vector<AdaptedRows> changes_of(const TensorView& stored, std::span<const AdaptedRows> all) {
  std::vector<AdaptedRows> inside;
  for (const AdaptedRows& c : all) {
    if (c.rows.data >= stored.data && c.rows.data < stored.data + stored.bytes()) {
      inside.push_back(c);
    }
  }
  return inside;
}

void write_pieces(std::span<const std::byte> bytes, const ByteSink& to) {
  for (size_t at = 0; at < bytes.size(); at += kPieceBytes) {
    to(bytes.subspan(at, std::min(kPieceBytes, bytes.size() - at)));
  }
}

void MergedTensor::write(const std::string& file, const ByteSink& to) const {
  if (changes.empty()) return write_pieces({stored.data, stored.bytes()}, to);
  MergedRows rows(stored, type, file);
  for (const AdaptedRows& c : changes) {
    rows.add((c.rows.data - stored.data) / static_cast<int64_t>(stored.row_bytes()), *c.adapter);
  }
  const auto floats = static_cast<int64_t>(kPieceBytes / sizeof(float));
  const int64_t at_once = std::max<int64_t>(1, floats / stored.cols());
  for (int64_t begin = 0; begin < stored.rows(); begin += at_once) {
    to(rows.get(begin, std::min(at_once, stored.rows() - begin)));
  }
}

}  // namespace longhaul
