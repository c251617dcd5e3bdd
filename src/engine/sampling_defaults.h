#pragma once
// How a model's makers want its replies drawn.

#include <optional>
#include <string>

#include "engine/sampler.h"
#include "format/checkpoint.h"

namespace longhaul {

struct SamplingDefaults {
  SamplerOptions sampler;  ///< of its fields the temperature, the cuts and the penalty
  std::string source;      ///< "generation_config.json", "the model's metadata"
};

/// Of generation_config.json where that asks for drawing (`do_sample`), of `general.sampling.*` in
/// a GGUF file; none where the model says nothing, or something out of range, which is warned of.
std::optional<SamplingDefaults> sampling_defaults(const Checkpoint& checkpoint);

/// "temperature 0.7, top-k 20, top-p 0.8": what differs from no cut at all.
std::string sampling_text(const SamplerOptions& sampler);

}  // namespace longhaul
