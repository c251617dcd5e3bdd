#pragma once
// The sampling settings that a model's authors recommend.

#include <optional>
#include <string>

#include "engine/sampler.h"
#include "format/checkpoint.h"

namespace longhaul {

struct SamplingDefaults {
  SamplerOptions sampler;  ///< only the temperature, the cuts and the penalty are used
  std::string source;      ///< source: "generation_config.json" or "the model's metadata"
};

/// Read from generation_config.json if it has `do_sample`, or from `general.sampling.*` in a GGUF
/// file. Returns none if the model has no settings, or a value out of range, in which case it
/// warns.
std::optional<SamplingDefaults> sampling_defaults(const Checkpoint& checkpoint);

/// "temperature 0.7, top-k 20, top-p 0.8": the settings that differ from neutral ones.
std::string sampling_text(const SamplerOptions& sampler);

}  // namespace longhaul
