#pragma once
// Flags for sampling, and for where a reply ends.

#include <string>
#include <vector>

#include "cli/cli11_names.h"
#include "engine/generate.h"

namespace longhaul {

struct SamplingFlags {
  SamplerOptions sampler;
  int64_t max_tokens = 1024;
  std::vector<std::string> stop;
  bool loops = false;  ///< whether a reply that repeats itself continues

  void add_to(CLI::App& app);
  /// Uses the model's recommended settings, except those that the user has set. Returns whether any
  /// recommended setting is used. If the user has set a temperature, none is used.
  bool take_defaults(const SamplerOptions& defaults);
  /// Returns the options of the generation. Chooses a seed if the user has given none and one is
  /// needed. `cancel` stops the generation.
  GenerateOptions options(const CancelFlag* cancel) const;

 private:
  CLI::Option *seed_ = nullptr, *temperature_ = nullptr, *top_k_ = nullptr, *top_p_ = nullptr,
              *min_p_ = nullptr, *penalty_ = nullptr, *penalty_last_ = nullptr;
};

}  // namespace longhaul
