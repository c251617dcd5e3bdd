#pragma once
// Reads the sampling settings that the authors of a model recommend.

#include <optional>
#include <string>

#include "engine/sampler.h"
#include "format/checkpoint.h"

namespace longhaul {

struct SamplingDefaults {
  SamplerOptions sampler;  ///< only temperature, top_k, top_p, min_p and repeat_penalty are set
  /// Origin of the settings: "generation_config.json" or "the model's metadata".
  std::string source;
};

/// Reads the settings from generation_config.json if it has the key `do_sample`, or from the keys
/// `general.sampling.*` of a GGUF file. Returns nothing if the model has no settings, or after a
/// warning if a value is out of range.
std::optional<SamplingDefaults> sampling_defaults(const Checkpoint& checkpoint);

/// Returns the settings that have an effect, as text such as "temperature 0.7, top-k 20, top-p
/// 0.8".
std::string sampling_text(const SamplerOptions& sampler);

}  // namespace longhaul
