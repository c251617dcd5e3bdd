#pragma once
// Some models also process images or sound. Their folder contains a text model and other
// components. The functions of this file extract the text model. config.json has its settings in
// the object `text_config`, or among the settings of the whole model (Qwen2-VL, Qwen2.5-VL). The
// names of the text model's tensors are those of an ordinary text model, with or without a prefix.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace longhaul {

/// Replaces the settings of the whole model in `config` by those of its text model. Settings that
/// the text model does not have are kept, such as quantization_config and the ids of end tokens.
/// `tie_word_embeddings` becomes true if either the whole model or the text model sets it. If
/// `config` already describes a text model, returns false and changes nothing.
bool take_text_config(nlohmann::json& config);

/// Returns the name that a tensor would have in an ordinary text model, or nothing if the tensor
/// belongs to another component. It removes the prefixes of transformers before and since version
/// 4.52, and those of SmolVLM.
std::optional<std::string> text_part_name(std::string_view tensor);

}  // namespace longhaul
