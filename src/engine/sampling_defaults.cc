#include "engine/sampling_defaults.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "format/gguf_metadata.h"

namespace longhaul {
namespace {

/// The settings of a file; those that it does not contain are empty.
struct Numbers {
  std::optional<double> temperature, top_k, top_p, min_p, penalty, penalty_last;
};

/// Returns the settings of a generation_config.json with `do_sample`. Missing keys have the
/// defaults of transformers.
Numbers of_generation_config(const nlohmann::json& config) {
  Numbers n;
  if (!config.is_object()) return n;
  const auto sample = config.find("do_sample");
  if (sample == config.end() || !sample->is_boolean() || !sample->get<bool>()) return n;
  const auto number = [&config](const char* key, double otherwise) {
    const auto found = config.find(key);
    return found != config.end() && found->is_number() ? found->get<double>() : otherwise;
  };
  n.temperature = number("temperature", 1);
  n.top_k = number("top_k", 50);
  n.top_p = number("top_p", 1);
  n.min_p = number("min_p", 0);
  n.penalty = number("repetition_penalty", 1);
  return n;
}

Numbers of_metadata(const GgufMetadata& metadata) {
  Numbers n;
  n.temperature = metadata.find_f64("general.sampling.temp");
  if (const auto k = metadata.find_i64("general.sampling.top_k")) {
    n.top_k = static_cast<double>(*k);
  }
  n.top_p = metadata.find_f64("general.sampling.top_p");
  n.min_p = metadata.find_f64("general.sampling.min_p");
  n.penalty = metadata.find_f64("general.sampling.penalty_repeat");
  if (const auto last = metadata.find_i64("general.sampling.penalty_last_n")) {
    n.penalty_last = static_cast<double>(*last);
  }
  return n;
}

/// Returns whether a number is missing or in the range of its command-line flag.
bool in_range(const std::optional<double>& number, double least, double most) {
  return !number || (*number >= least && *number <= most);
}

}  // namespace

std::optional<SamplingDefaults> sampling_defaults(const Checkpoint& checkpoint) {
  const bool gguf = checkpoint.format() == CheckpointFormat::kGguf;
  const Numbers n = gguf ? of_metadata(checkpoint.gguf())
                         : of_generation_config(checkpoint.hf().generation_config);
  if (!n.temperature) return std::nullopt;
  SamplingDefaults defaults;
  defaults.source = gguf ? "the model's metadata" : "generation_config.json";
  constexpr double kMost = 1 << 30;
  if (!in_range(n.temperature, 0, 100) || !in_range(n.top_k, -1, kMost) ||
      !in_range(n.top_p, 0, 1) || !in_range(n.min_p, 0, 1) || !in_range(n.penalty, 0.01, 100) ||
      !in_range(n.penalty_last, 0, kMost)) {
    warn("{}: {}: its sampling has a number out of range and is not used",
         checkpoint.path().string(), defaults.source);
    return std::nullopt;
  }
  SamplerOptions& s = defaults.sampler;
  s.temperature = static_cast<float>(*n.temperature);
  if (n.top_k) s.top_k = static_cast<int>(*n.top_k);
  if (n.top_p) s.top_p = static_cast<float>(*n.top_p);
  if (n.min_p) s.min_p = static_cast<float>(*n.min_p);
  if (n.penalty) s.repeat_penalty = static_cast<float>(*n.penalty);
  if (n.penalty_last) s.repeat_last = static_cast<int>(*n.penalty_last);
  return defaults;
}

std::string sampling_text(const SamplerOptions& s) {
  std::string text = fmt::format("temperature {:g}", s.temperature);
  if (s.temperature == 0) return text;
  if (s.top_k > 0) text += fmt::format(", top-k {}", s.top_k);
  if (s.top_p < 1) text += fmt::format(", top-p {:g}", s.top_p);
  if (s.min_p > 0) text += fmt::format(", min-p {:g}", s.min_p);
  if (s.repeat_penalty != 1) text += fmt::format(", repeat penalty {:g}", s.repeat_penalty);
  return text;
}

}  // namespace longhaul
