#pragma once
// Extracts the text model from the folder of a larger model that also reads images or sound.
// config.json describes the text model under `text_config`, or next to the settings of the whole
// model (Qwen2-VL, Qwen2.5-VL). The tensors of the text model have a prefix, or the names of an
// ordinary model. Other parts are ignored.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace longhaul {

/// Replaces the settings of the whole model by those of its text model. Keys that the text model
/// lacks (tokens that end a text, quantization_config) are kept. `tie_word_embeddings` becomes true
/// if either the whole model or the text model sets it. If `config` is that of a text model,
/// returns false and changes nothing.
bool take_text_config(nlohmann::json& config);

/// Returns the name of a tensor within the text model, which may be the same name. The result is
/// empty if the tensor belongs to another part. The prefixes are those of transformers before and
/// since version 4.52, and of SmolVLM.
std::optional<std::string> text_part_name(std::string_view tensor);

}  // namespace longhaul
