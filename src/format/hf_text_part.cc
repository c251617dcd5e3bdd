#include "format/hf_text_part.h"

namespace longhaul {
namespace {

struct Prefix {
  std::string_view whole, alone;  // in the larger model, and in a text model
};

constexpr Prefix kPrefixes[] = {{"language_model.model.", "model."},
                                {"language_model.lm_head.", "lm_head."},
                                {"model.language_model.", "model."},
                                {"model.text_model.", "model."},
                                {"lm_head.", "lm_head."}};

}  // namespace

bool take_text_config(nlohmann::json& config) {
  const auto found = config.find("text_config");
  if (found == config.end() || !found->is_object()) return false;
  const nlohmann::json text = *found;
  config.erase(found);
  config.update(text);
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
