#include "format/hf_text_part.h"

#include <algorithm>
#include <iterator>

namespace longhaul {
namespace {

struct Prefix {
  std::string_view whole, alone;  // in the larger model, and in a text model
};

// The first that fits counts.
constexpr Prefix kPrefixes[] = {{"language_model.model.", "model."},
                                {"language_model.lm_head.", "lm_head."},
                                {"language_model.", "model."},
                                {"model.language_model.model.", "model."},
                                {"model.language_model.lm_head.", "lm_head."},
                                {"model.language_model.", "model."},
                                {"model.text_model.", "model."},
                                {"model.embed_tokens.", "model.embed_tokens."},
                                {"model.layers.", "model.layers."},
                                {"model.norm.", "model.norm."},
                                {"lm_head.", "lm_head."}};

constexpr const char* kTied = "tie_word_embeddings";

/// Models whose folders may hold the settings of the text model beside those of the whole.
constexpr std::string_view kFlat[] = {"qwen2_vl", "qwen2_5_vl"};
/// Models whose output matrix is the embedding where their config.json does not say.
constexpr std::string_view kTiedByDefault[] = {"gemma3", "gemma4", "mistral3", "internvl",
                                               "aya_vision"};

template <class List>
bool among(const List& names, const nlohmann::json& config) {
  const auto type = config.find("model_type");
  return type != config.end() && type->is_string() &&
         std::find(std::begin(names), std::end(names), type->get_ref<const std::string&>()) !=
             std::end(names);
}

bool is_true(const nlohmann::json& config, const char* key, bool usual) {
  const auto found = config.find(key);
  return found == config.end() || found->is_null() ? usual : *found == true;
}

}  // namespace

bool take_text_config(nlohmann::json& config) {
  const auto found = config.find("text_config");
  if (found == config.end() || !found->is_object()) {
    if (!config.contains("vision_config") || !among(kFlat, config)) return false;
    config["model_type"] = config["model_type"].get<std::string>() + "_text";
    return true;
  }
  // Files of transformers 5 say it of the whole model, older ones of the text model.
  const bool tied = is_true(config, kTied, among(kTiedByDefault, config));
  const nlohmann::json text = *found;
  config.erase(found);
  config.update(text);
  if (tied) config[kTied] = true;
  return true;
}

std::optional<std::string> text_part_name(std::string_view tensor) {
  for (const Prefix& prefix : kPrefixes) {
    if (!tensor.starts_with(prefix.whole)) continue;
    return std::string(prefix.alone) + std::string(tensor.substr(prefix.whole.size()));
  }
  return std::nullopt;
}

}  // namespace longhaul
