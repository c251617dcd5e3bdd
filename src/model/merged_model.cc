#include "model/merged_model.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/error.h"
#include "format/gguf_writer.h"
#include "model/tensor_names.h"
#include "text/printable.h"

namespace longhaul {
namespace {

/// Returns whether weights can be converted to the type.
bool can_write(DType type) {
  return type == DType::F32 || type == DType::F16 || type == DType::BF16 || type == DType::Q8_0;
}

/// Returns the value of general.file_type (llama.cpp's enum llama_ftype) for a file whose weights
/// mostly have the type `type`.
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

template <class T>
std::span<const std::byte> bytes_of_number(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

MergedModel::MergedModel(const Checkpoint& checkpoint, std::span<const WeightedLora> adapters,
                         std::optional<DType> type)
    : checkpoint_(checkpoint), model_(load_model(checkpoint)) {
  const ModelConfig before = model_.config;
  attach_adapters(adapters, model_);
  plan(type);
  set_metadata(before);
  alignment_ = gguf_alignment(checkpoint_.gguf());
  const std::vector<TensorView> tensors = written();
  header_ = gguf_header(metadata_, tensors, alignment_);
  bytes_ = header_.size();
  for (const TensorView& t : tensors) bytes_ += t.bytes() + gguf_padding(t.bytes(), alignment_);
}

std::vector<TensorView> MergedModel::written() const {
  std::vector<TensorView> tensors;
  for (const MergedTensor& t : tensors_) {
    tensors.push_back(t.stored);
    tensors.back().data = nullptr;
    tensors.back().type = t.type;
  }
  return tensors;
}

void MergedModel::plan(std::optional<DType> type) {
  const std::vector<AdaptedRows> all = adapted_rows(checkpoint_, model_);
  for (const TensorView& stored : checkpoint_.tensors()) {
    tensors_.push_back({stored, stored.type, changes_of(stored, all)});
  }
  // If the matrix of the logits was the same tensor as the embedding, it becomes a separate tensor.
  if (!model_.head_adapter.empty() && model_.head.data == model_.embedding.data) {
    MergedTensor head{model_.embedding, model_.embedding.type, {}};
    head.changes = {{model_.embedding, &model_.head_adapter, {}}};
    head.stored.name = std::string(tensor_names(CheckpointFormat::kGguf).head) + ".weight";
    tensors_.push_back(std::move(head));
  }
  for (MergedTensor& t : tensors_) {
    if (t.changes.empty()) continue;
    const DType old = t.stored.type;
    t.type = type.value_or(can_write(old) ? old : DType::Q8_0);
    if (t.stored.cols() % traits(t.type).block_size != 0) {
      user_error(
          "{}: tensor {}: rows of {} elements are no whole number of {} blocks: choose "
          "another --type",
          checkpoint_.path().string(), printable(t.stored.name), t.stored.cols(), name_of(t.type));
    }
    ++changed_[{old, t.type}];
  }
}

void MergedModel::set_metadata(const ModelConfig& before) {
  for (const GgufEntry& entry : checkpoint_.gguf().entries()) {
    // A model in several files becomes one file.
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
  // If the key is missing, readers use the trained context length, which changes here.
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
  for (const TensorView& t : written()) bytes[t.type] += t.bytes();
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

void MergedModel::write(const ByteSink& to) const {
  const std::vector<std::byte> zeros(alignment_);
  const std::vector<TensorView> tensors = written();
  to(std::as_bytes(std::span(header_)));
  for (size_t i = 0; i < tensors.size(); ++i) {
    tensors_[i].write(checkpoint_.path().string(), to);
    to({zeros.data(), gguf_padding(tensors[i].bytes(), alignment_)});
  }
}

}  // namespace longhaul
