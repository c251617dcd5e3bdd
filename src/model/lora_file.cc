#include "model/lora_file.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/paths.h"
#include "format/hf_text_part.h"
#include "format/safetensors_reader.h"
#include "model/config_fields.h"
#include "text/json_file.h"
#include "text/printable.h"

namespace longhaul {
namespace {

constexpr int64_t kMostRank = 4096;

std::string shape_of(const TensorView& t) { return fmt::format("[{}, {}]", t.rows(), t.cols()); }

/// `name` without `ending`; empty where it does not end so.
std::string without(const std::string& name, std::string_view ending) {
  return name.ends_with(ending) ? name.substr(0, name.size() - ending.size()) : "";
}

/// Kinds of adapters that add something else, by the key of adapter_config.json that says so.
void refuse_other_kinds(const ConfigFields& config) {
  const std::string kind = config.text("peft_type", "");
  if (kind != "LORA")
    user_error("{}: peft_type is {}; supported: LORA", config.file(), printable(kind));
  for (const char* key : {"use_dora", "lora_bias", "fan_in_fan_out"}) {
    if (config.flag(key)) user_error("{}: {} is true, which is not supported", config.file(), key);
  }
  const std::string bias = config.text("bias", "none");
  if (bias != "none") user_error("{}: bias is {}; supported: none", config.file(), printable(bias));
  for (const char* key : {"modules_to_save", "alpha_pattern", "layer_replication"}) {
    if (config.has(key) && !config.object().at(key).empty())
      user_error("{}: {} is not supported", config.file(), key);
  }
}

}  // namespace

LoraFile LoraFile::open(const std::filesystem::path& path) {
  const bool folder = is_folder(path);
  LoraFile file(folder ? CheckpointFormat::kHuggingFace : CheckpointFormat::kGguf, path);
  if (folder) {
    file.open_peft();
  } else {
    file.open_gguf();
  }
  file.check_factors();
  return file;
}

void LoraFile::open_gguf() {
  file_ = path_.string();
  gguf_ = std::make_unique<Checkpoint>(open_checkpoint(path_));
  if (gguf_->format() != CheckpointFormat::kGguf)
    user_error("{}: no GGUF file; of an adapter from PEFT give the folder", file_);
  const GgufMetadata& data = gguf_->gguf();
  const std::string_view type = data.find_string("general.type").value_or("model");
  if (type != "adapter") {
    user_error("{}: general.type is {}, expected adapter: a model is given with -m", file_,
               printable(type));
  }
  const std::string_view kind = data.get_string("adapter.type");
  if (kind != "lora") user_error("{}: adapter.type is {}; supported: lora", file_, printable(kind));
  architecture_ = data.get_string("general.architecture");
  alpha_ = data.get_f64("adapter.lora.alpha");
  rope_base_ = data.find_f64(architecture_ + ".rope.freq_base");
  if (const auto context = data.find_u64(architecture_ + ".context_length")) {
    if (*context < 1 || *context > (1 << 30))
      user_error("{}: {}.context_length is {}", file_, architecture_, *context);
    context_ = static_cast<int64_t>(*context);
  }
  for (const UnreadableTensor& t : gguf_->unreadable())
    user_error("{}: tensor {} {}", file_, printable(t.name), t.reason);
  for (const TensorView& tensor : gguf_->tensors()) {
    const std::string a = without(tensor.name, ".weight.lora_a");
    const std::string b = without(tensor.name, ".weight.lora_b");
    if (a.empty() && b.empty()) {
      user_error("{}: tensor {} is neither a lora_a nor a lora_b of a matrix", file_,
                 printable(tensor.name));
    }
    add(a.empty() ? b : a, !a.empty(), tensor);
  }
}

void LoraFile::open_peft() {
  const auto settings = path_ / "adapter_config.json";
  if (!is_there(settings)) {
    user_error("{}: no adapter_config.json: neither a PEFT folder nor a GGUF adapter",
               path_.string());
  }
  const nlohmann::json document = read_json_file(settings);
  const ConfigFields config(settings.string(), document);
  refuse_other_kinds(config);
  alpha_ = config.real("lora_alpha", 0);
  root_of_rank_ = config.flag("use_rslora");
  if (!(alpha_ > 0)) user_error("{}: lora_alpha is {}", config.file(), alpha_);

  const auto weights = path_ / "adapter_model.safetensors";
  file_ = weights.string();
  if (!is_there(weights)) {
    user_error(
        "{}: missing{}", file_,
        is_there(path_ / "adapter_model.bin") ? ", and adapter_model.bin cannot be read" : "");
  }
  safetensors_ = std::make_unique<MappedFile>(weights);
  const TensorList list = read_safetensors(safetensors_->bytes(), file_);
  for (const UnreadableTensor& t : list.unreadable)
    user_error("{}: tensor {} {}", file_, printable(t.name), t.reason);
  constexpr std::string_view kPrefix = "base_model.model.";
  for (const TensorView& tensor : list.tensors) {
    // Of an adapted output matrix PEFT saves the model's own beside the factors.
    if (tensor.name.ends_with(".base_layer.weight")) continue;
    const std::string a = without(tensor.name, ".lora_A.weight");
    const std::string b = without(tensor.name, ".lora_B.weight");
    const std::string& matrix = a.empty() ? b : a;
    if (!matrix.starts_with(kPrefix)) {
      user_error("{}: tensor {} is neither a lora_A nor a lora_B of a model's matrix", file_,
                 printable(tensor.name));
    }
    const std::string name = matrix.substr(kPrefix.size());
    add(text_part_name(name).value_or(name), !a.empty(), tensor);
  }
}

void LoraFile::add(const std::string& matrix, bool is_a, const TensorView& tensor) {
  if (tensor.rank != 2)
    user_error("{}: tensor {} has {} dimensions, expected 2", file_, printable(tensor.name),
               tensor.rank);
  Factors& factors = factors_[matrix];
  (is_a ? factors.a : factors.b) = tensor;
}

void LoraFile::check_factors() const {
  if (factors_.empty()) user_error("{}: holds no adapter of any matrix", file_);
  for (const auto& [matrix, f] : factors_) {
    if (f.a.data == nullptr || f.b.data == nullptr) {
      user_error("{}: {} has factor {} but not {}", file_, printable(matrix),
                 f.a.data == nullptr ? "B" : "A", f.a.data == nullptr ? "A" : "B");
    }
    if (f.a.rows() != f.b.cols()) {
      user_error("{}: {}: A is {} and B is {}, whose ranks differ", file_, printable(matrix),
                 shape_of(f.a), shape_of(f.b));
    }
    if (f.a.rows() < 1 || f.a.rows() > kMostRank)
      user_error("{}: {}: rank {} is outside 1..{}", file_, printable(matrix), f.a.rows(),
                 kMostRank);
  }
}

double LoraFile::scale(int64_t rank) const {
  if (alpha_ == 0) return 1;
  const auto r = static_cast<double>(rank);
  return alpha_ / (root_of_rank_ ? std::sqrt(r) : r);
}

size_t LoraFile::bytes() const {
  size_t bytes = 0;
  for (const auto& [matrix, f] : factors_) bytes += f.a.bytes() + f.b.bytes();
  return bytes;
}

}  // namespace longhaul
