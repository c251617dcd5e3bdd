#include "model/merged_tensor.h"

#include <algorithm>

#include "base/error.h"
#include "format/checkpoint.h"
#include "model/merged_rows.h"

namespace longhaul {
namespace {

constexpr size_t kPieceBytes = size_t{4} << 20;

/// Throws UserError if adapters replace weights in a way that a merged file cannot contain: biases,
/// or only one of the embedding and the matrix of the logits if both are one tensor.
void refuse_other_replacements(const Checkpoint& checkpoint, const Model& model) {
  if (model.replaced_biases) {
    user_error(
        "{}: the adapter replaces biases, which cannot be written: leave it beside the model "
        "(--lora)",
        checkpoint.path().string());
  }
  for (const ReplacedRows& r : model.replaced) {
    const auto differs = [&](const ReplacedRows& other) {
      return other.before.data == r.before.data && other.after.data != r.after.data;
    };
    const bool kept = r.before.data == model.embedding.data || r.before.data == model.head.data;
    if (!kept && std::none_of(model.replaced.begin(), model.replaced.end(), differs)) continue;
    user_error(
        "{}: its output matrix is the embedding, of which the adapter replaces one: leave the "
        "adapter beside the model (--lora)",
        checkpoint.path().string());
  }
}

}  // namespace

std::vector<AdaptedRows> adapted_rows(const Checkpoint& checkpoint, const Model& model) {
  refuse_other_replacements(checkpoint, model);
  std::vector<AdaptedRows> all;
  for (const ReplacedRows& r : model.replaced) all.push_back({r.before, nullptr, r.after});
  const auto add = [&](const TensorView& rows, const LowRank& adapter) {
    if (!adapter.empty()) all.push_back({rows, &adapter, {}});
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
    const int64_t begin = (c.rows.data - stored.data) / static_cast<int64_t>(stored.row_bytes());
    if (c.adapter == nullptr) {
      rows.replace(begin, c.replacement);
    } else {
      rows.add(begin, *c.adapter);
    }
  }
  const auto floats = static_cast<int64_t>(kPieceBytes / sizeof(float));
  const int64_t at_once = std::max<int64_t>(1, floats / stored.cols());
  for (int64_t begin = 0; begin < stored.rows(); begin += at_once) {
    to(rows.get(begin, std::min(at_once, stored.rows() - begin)));
  }
}

}  // namespace longhaul
