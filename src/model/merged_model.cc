#include "model/merged_model.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "format/gguf_writer.h"
#include "model/merged_rows.h"
#include "model/tensor_names.h"
#include "text/printable.h"

namespace longhaul {
namespace {

/// Whether values can be brought into the type.
bool can_write(DType type) {
  return type == DType::F32 || type == DType::F16 || type == DType::BF16 || type == DType::Q8_0;
}

/// Files call themselves by the type of most of their weights (llama.cpp's enum llama_ftype).
std::optional<uint32_t> file_type(DType type) {
  switch (type) {
    case DType::F32:
      return 0;
    case DType::F16:
      return 1;
    case DType::Q8_0:
      return 7;
    case DType::BF16:
      return 32;
    default:
      return std::nullopt;
  }
}

Model loaded(const Checkpoint& checkpoint) {
  if (checkpoint.format() != CheckpointFormat::kGguf) {
    user_error(
        "{}: a Hugging Face folder: only GGUF models can be merged. Convert it first (llama.cpp's "
        "convert_hf_to_gguf.py), or leave the adapter beside it (--lora)",
        checkpoint.path().string());
  }
  return load_model(checkpoint);
}

template <class T>
std::span<const std::byte> bytes_of_number(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

MergedModel::MergedModel(const Checkpoint& checkpoint, std::span<const WeightedLora> adapters,
                         std::optional<DType> type)
    : checkpoint_(checkpoint), model_(loaded(checkpoint)) {
  const ModelConfig before = model_.config;
  attach_adapters(adapters, model_);
  plan(type);
  set_metadata(before);
  alignment_ = gguf_alignment(checkpoint_.gguf());
  std::vector<TensorView> written;
  for (const Tensor& t : tensors_) written.push_back(t.written);
  header_ = gguf_header(metadata_, written, alignment_);
  bytes_ = header_.size();
  for (const TensorView& t : written) bytes_ += t.bytes() + gguf_padding(t.bytes(), alignment_);
}

std::vector<MergedModel::Change> MergedModel::all_changes() const {
  std::vector<Change> changes;
  const auto add = [&](const TensorView& rows, const LowRank& adapter) {
    if (!adapter.empty()) changes.push_back({rows, &adapter});
  };
  for (size_t l = 0; l < model_.adapters.size(); ++l) {
    const LayerWeights& w = model_.layers[l];
    const LayerAdapters& a = model_.adapters[l];
    add(w.q, a.q);
    add(w.k, a.k);
    add(w.v, a.v);
    add(w.output, a.output);
    add(w.gate, a.gate);
    add(w.up, a.up);
    add(w.down, a.down);
  }
  if (model_.head.data != model_.embedding.data) add(model_.head, model_.head_adapter);
  return changes;
}

void MergedModel::plan(std::optional<DType> type) {
  const std::vector<Change> changes = all_changes();
  for (const TensorView& stored : checkpoint_.tensors()) {
    Tensor tensor{stored, stored, {}};
    for (const Change& c : changes) {
      if (c.rows.data >= stored.data && c.rows.data < stored.data + stored.bytes()) {
        tensor.changes.push_back(c);
      }
    }
    tensors_.push_back(std::move(tensor));
  }
  // An output matrix that was the embedding becomes one of its own.
  if (!model_.head_adapter.empty() && model_.head.data == model_.embedding.data) {
    Tensor head{model_.embedding, model_.embedding, {{model_.embedding, &model_.head_adapter}}};
    head.written.name = std::string(tensor_names(CheckpointFormat::kGguf).head) + ".weight";
    tensors_.push_back(std::move(head));
  }
  for (Tensor& t : tensors_) {
    if (t.changes.empty()) continue;
    const DType old = t.stored.type;
    t.written.type = type.value_or(can_write(old) ? old : DType::Q8_0);
    if (t.written.cols() % traits(t.written.type).block_size != 0) {
      user_error(
          "{}: tensor {}: rows of {} elements are no whole number of {} blocks: choose "
          "another --type",
          checkpoint_.path().string(), printable(t.stored.name), t.written.cols(),
          name_of(t.written.type));
    }
    ++changed_[{old, t.written.type}];
  }
}

void MergedModel::set_metadata(const ModelConfig& before) {
  for (const GgufEntry& entry : checkpoint_.gguf().entries()) {
    // What was several files is one.
    if (!entry.key.starts_with("split.")) metadata_.push_back(entry);
  }
  set_angles(before, std::string(checkpoint_.gguf().get_string("general.architecture")) + ".");
  set_file_type();
}

void MergedModel::set_angles(const ModelConfig& before, const std::string& prefix) {
  const ModelConfig& c = model_.config;
  if (c.rope.base != before.rope.base) {
    const auto base = static_cast<float>(c.rope.base);
    set_number(prefix + "rope.freq_base", GgufType::kF32, bytes_of_number(base));
  }
  if (c.trained_context == before.trained_context) return;
  if (c.rope.scaling == RopeScaling::kLongRope) {
    user_error(
        "{}: its angles follow its trained length (longrope), which the adapter changes: "
        "leave the adapter beside it (--lora)",
        checkpoint_.path().string());
  }
  const auto context = static_cast<uint32_t>(c.trained_context);
  set_number(prefix + "context_length", GgufType::kU32, bytes_of_number(context));
  // Where it is not named, it is taken to be the trained length.
  if (c.rope.scaling != RopeScaling::kYarn && c.temperature_scale == 0) return;
  const auto original = static_cast<uint32_t>(c.rope.original_context);
  set_number(prefix + "rope.scaling.original_context_length", GgufType::kU32,
             bytes_of_number(original));
}

void MergedModel::set_file_type() {
  constexpr std::string_view kKey = "general.file_type";
  const bool retyped = std::any_of(changed_.begin(), changed_.end(),
                                   [](const auto& c) { return c.first.first != c.first.second; });
  if (!retyped || !checkpoint_.gguf().contains(kKey)) return;
  std::map<DType, size_t> bytes;
  for (const Tensor& t : tensors_) bytes[t.written.type] += t.written.bytes();
  const auto most = std::max_element(
      bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (const auto number = file_type(most->first)) {
    set_number(std::string(kKey), GgufType::kU32, bytes_of_number(*number));
  }
}

void MergedModel::set_number(const std::string& key, GgufType type,
                             std::span<const std::byte> value) {
  GgufEntry entry;
  entry.key = own_texts_.emplace_back(key);
  entry.type = type;
  const std::string& kept =
      own_texts_.emplace_back(reinterpret_cast<const char*>(value.data()), value.size());
  entry.bytes = std::as_bytes(std::span(kept));
  const auto at = std::find_if(metadata_.begin(), metadata_.end(),
                               [&](const GgufEntry& e) { return e.key == key; });
  if (at != metadata_.end()) {
    *at = entry;
  } else {
    metadata_.push_back(entry);
  }
}

void MergedModel::write(const std::function<void(std::span<const std::byte>)>& to) const {
  constexpr int64_t kPieceBytes = int64_t{4} << 20;
  const std::vector<std::byte> zeros(alignment_);
  to(std::as_bytes(std::span(header_)));
  for (const Tensor& t : tensors_) {
    if (t.changes.empty()) {
      to({t.stored.data, t.stored.bytes()});
    } else {
      MergedRows rows(t.stored, t.written.type, checkpoint_.path().string());
      for (const Change& c : t.changes) {
        rows.add((c.rows.data - t.stored.data) / static_cast<int64_t>(t.stored.row_bytes()),
                 *c.adapter);
      }
      const int64_t at_once = std::max<int64_t>(1, kPieceBytes / 4 / t.stored.cols());
      for (int64_t begin = 0; begin < t.stored.rows(); begin += at_once) {
        to(rows.get(begin, std::min(at_once, t.stored.rows() - begin)));
      }
    }
    to({zeros.data(), gguf_padding(t.written.bytes(), alignment_)});
  }
}

}  // namespace longhaul
