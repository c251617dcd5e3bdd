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

/// Returns `name` without `ending`, or an empty string if `name` does not end with it.
std::string without(const std::string& name, std::string_view ending) {
  return name.ends_with(ending) ? name.substr(0, name.size() - ending.size()) : "";
}

/// Throws UserError if the adapter was initialised in a way that changes the base weights. PEFT
/// subtracts a part of these weights at initialisation and again when it loads the adapter.
/// Adapters that were saved for the unchanged model have `true` for the key.
void refuse_changed_base(const ConfigFields& config) {
  constexpr const char* kKey = "init_lora_weights";
  if (!config.has(kKey) || config.object().at(kKey).is_boolean()) return;
  std::string how = config.text(kKey, "");
  for (char& c : how) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const char* harmless : {"", "gaussian", "eva", "orthogonal", "mica"}) {
    if (how == harmless) return;
  }
  user_error(
      "{}: {} is {}: the adapter belongs to base weights that were changed when it began. Save it "
      "with PEFT's path_initial_model_for_weight_conversion, which makes an ordinary adapter of it",
      config.file(), kKey, printable(config.text(kKey, "")));
}

/// Throws UserError if a key of adapter_config.json selects a kind of adapter that is not plain
/// LoRA.
void refuse_other_kinds(const ConfigFields& config) {
  const std::string kind = config.text("peft_type", "");
  if (kind != "LORA")
    user_error("{}: peft_type is {}; supported: LORA", config.file(), printable(kind));
  for (const char* key : {"use_dora", "use_qalora", "lora_bias", "fan_in_fan_out"}) {
    if (config.flag(key)) user_error("{}: {} is true, which is not supported", config.file(), key);
  }
  const std::string bias = config.text("bias", "none");
  if (bias != "none") user_error("{}: bias is {}; supported: none", config.file(), printable(bias));
  for (const char* key :
       {"layer_replication", "trainable_token_indices", "target_parameters", "kasa_config",
        "monteclora_config", "arrow_config", "alora_invocation_tokens", "use_bdlora"}) {
    if (config.has(key) && !config.object().at(key).empty())
      user_error("{}: {} is not supported", config.file(), key);
  }
  refuse_changed_base(config);
}

/// Reads `alpha_pattern`: regular expressions for the ends of module names, in the order of the
/// file. PEFT uses the first one that matches.
std::vector<std::pair<Regex, double>> read_alphas(const std::filesystem::path& settings,
                                                  const ConfigFields& config) {
  constexpr const char* kKey = "alpha_pattern";
  std::vector<std::pair<Regex, double>> alphas;
  if (!config.has(kKey)) return alphas;
  const MappedFile file(settings);
  const auto bytes = file.bytes();
  // The keys must be in the order of the file, which the parser used elsewhere does not keep.
  const auto document = nlohmann::ordered_json::parse(
      std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  const auto& patterns = document.at(kKey);
  if (!patterns.is_object()) {
    user_error("{}: '{}' is {}, expected an object", config.file(), kKey,
               printable(patterns.dump()));
  }
  for (const auto& [pattern, alpha] : patterns.items()) {
    const double value = alpha.is_number() ? alpha.get<double>() : 0;
    if (!(value > 0) || !std::isfinite(value)) {
      user_error("{}: '{}' of {} is {}, expected a positive number", config.file(), kKey,
                 printable(pattern), printable(alpha.dump()));
    }
    alphas.emplace_back(Regex("^(?:.*\\.)?(?:" + pattern + ")$", config.file() + ": " + kKey),
                        value);
  }
  return alphas;
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
    const std::string& matrix = a.empty() ? b : a;
    add(matrix, !a.empty(), tensor);
    factors_[matrix].alpha = alpha_;
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
  alphas_ = read_alphas(settings, config);
  keeps_tied_ = config.flag("ensure_weight_tying");
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
  for (const TensorView& tensor : list.tensors) add_peft_tensor(tensor);
}

void LoraFile::add_peft_tensor(const TensorView& tensor) {
  constexpr std::string_view kPrefix = "base_model.model.";
  // If an adapter changes the matrix of the logits, PEFT also saves the matrix itself.
  if (tensor.name.ends_with(".base_layer.weight")) return;
  const std::string a = without(tensor.name, ".lora_A.weight");
  const std::string b = without(tensor.name, ".lora_B.weight");
  const bool is_bias = tensor.name.ends_with(".bias");
  std::string matrix = a.empty() ? b : a;
  if (matrix.empty()) {
    matrix = without(tensor.name, is_bias ? ".bias" : ".weight");
    for (const char* wrapper : {".modules_to_save.default", ".modules_to_save"}) {
      if (matrix.ends_with(wrapper)) matrix = without(matrix, wrapper);
    }
  }
  if (!matrix.starts_with(kPrefix)) {
    user_error("{}: tensor {} is neither a lora_A nor a lora_B of a model's matrix, nor a matrix",
               file_, printable(tensor.name));
  }
  const std::string module = matrix.substr(kPrefix.size());
  const std::string name = text_part_name(module + ".").value_or(module + ".");
  matrix = name.substr(0, name.size() - 1);
  if (a.empty() && b.empty()) {
    if (is_bias) matrix += ".bias";
    if (!whole_.emplace(matrix, tensor).second)
      user_error("{}: {} is there twice", file_, printable(matrix));
    return;
  }
  add(matrix, !a.empty(), tensor);
  factors_[matrix].alpha = alpha_of(module);
}

double LoraFile::alpha_of(const std::string& module) const {
  for (const auto& [pattern, alpha] : alphas_) {
    if (pattern.find(module, 0)) return alpha;
  }
  return alpha_;
}

void LoraFile::add(const std::string& matrix, bool is_a, const TensorView& tensor) {
  if (tensor.rank != 2)
    user_error("{}: tensor {} has {} dimensions, expected 2", file_, printable(tensor.name),
               tensor.rank);
  Factors& factors = factors_[matrix];
  (is_a ? factors.a : factors.b) = tensor;
}

void LoraFile::check_factors() const {
  if (factors_.empty() && whole_.empty()) user_error("{}: holds no adapter of any matrix", file_);
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

double LoraFile::scale(const Factors& factors) const {
  if (factors.alpha == 0) return 1;
  const auto r = static_cast<double>(factors.a.rows());
  return factors.alpha / (root_of_rank_ ? std::sqrt(r) : r);
}

size_t LoraFile::bytes() const {
  size_t bytes = 0;
  for (const auto& [matrix, f] : factors_) bytes += f.a.bytes() + f.b.bytes();
  for (const auto& [matrix, weights] : whole_) bytes += weights.bytes();
  return bytes;
}

}  // namespace longhaul
