#pragma once
// The text model in the folder of a larger one, which also reads images or sound. config.json
// describes it under `text_config`, or beside the settings of the whole (Qwen2-VL, Qwen2.5-VL). Its
// tensors have a prefix or the names of an ordinary model. Other parts are ignored.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace longhaul {

/// Replaces the settings of the whole model by those of its text model. Keys that the text model
/// does not have (tokens that end a text, quantization_config) are kept. `tie_word_embeddings` is
/// true if the whole model or the text model says so. Returns false without changes if `config` is
/// that of a text model alone.
bool take_text_config(nlohmann::json& config);

/// The name of a tensor in a text model, which may be its own name; empty if it belongs to another
/// part. The prefixes are those of transformers, before and since 4.52, and of SmolVLM.
std::optional<std::string> text_part_name(std::string_view tensor);

}  // namespace longhaul
