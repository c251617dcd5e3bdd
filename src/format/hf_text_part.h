#pragma once
// The text model in the folder of a larger one, which reads images or sound as well: config.json
// describes it under `text_config`, and its tensors have a prefix. Without that it is an ordinary
// model, and is read as one; the other parts are left alone.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace longhaul {

/// Replaces the settings of the whole model by those of its text model; keys that the text model
/// does not have (tokens that end a text, quantization_config) stay. Returns false, and changes
/// nothing, where `config` is that of a text model alone.
bool take_text_config(nlohmann::json& config);

/// The name that a tensor would have in the text model alone; empty where it belongs to another
/// part. The prefixes are those of transformers, before and since 4.52, and of SmolVLM.
std::optional<std::string> text_part_name(std::string_view tensor);

}  // namespace longhaul
