#pragma once
// Flags for sampling and for the end of a reply.

#include <string>
#include <vector>

#include "cli/cli11_names.h"
#include "engine/generate.h"

namespace longhaul {

struct SamplingFlags {
  SamplerOptions sampler;
  int64_t max_tokens = 1024;
  std::vector<std::string> stop;
  bool loops = false;  ///< a reply that repeats itself continues

  void add_to(CLI::App& app);
  /// Uses the model's recommended settings, except those that the user has set. Returns whether any
  /// remain: a given temperature overrides all.
  bool take_defaults(const SamplerOptions& defaults);
  /// Chooses a seed if the user gave none and one is needed.
  GenerateOptions options(const CancelFlag* cancel) const;

 private:
  CLI::Option *seed_ = nullptr, *temperature_ = nullptr, *top_k_ = nullptr, *top_p_ = nullptr,
              *min_p_ = nullptr, *penalty_ = nullptr, *penalty_last_ = nullptr;
};

}  // namespace longhaul
