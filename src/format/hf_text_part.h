#pragma once
// The text model in the folder of a larger one, which reads images or sound as well: config.json
// describes it under `text_config`, and its tensors have a prefix. Without that it is an ordinary
// model, and is read as one; the other parts are left alone.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace longhaul {

/// Puts the text model's settings in place of those of the whole, which keep the keys that the text
/// model does not name (tokens that end a text, quantization_config). False: `config` is no larger
/// model's, and stays as it is.
bool take_text_config(nlohmann::json& config);

/// The name that a tensor has in the text model alone; nothing: it belongs to another part. The
/// prefixes are those of transformers, before and since 4.52, and of SmolVLM.
std::optional<std::string> text_part_name(std::string_view tensor);

}  // namespace longhaul
