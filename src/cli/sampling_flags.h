#pragma once
// Defines the flags for sampling, and for the end of a reply.

#include <string>
#include <vector>

#include "cli/cli11_names.h"
#include "engine/generate.h"

namespace longhaul {

struct SamplingFlags {
  SamplerOptions sampler;
  int64_t max_tokens = 1024;
  std::vector<std::string> stop;
  bool loops = false;  ///< whether generation continues if the reply repeats itself endlessly

  void add_to(CLI::App& app);
  /// Gives the options that the user has not set the values in `defaults`, which the model's files
  /// recommend. Does nothing if the user has set a temperature. Returns whether any option was
  /// changed.
  bool take_defaults(const SamplerOptions& defaults);
  /// Returns the options for generating a reply. Chooses a random seed if one is needed and the
  /// user has given none. Generation stops when `cancel` is set.
  GenerateOptions options(const CancelFlag* cancel) const;

 private:
  CLI::Option *seed_ = nullptr, *temperature_ = nullptr, *top_k_ = nullptr, *top_p_ = nullptr,
              *min_p_ = nullptr, *penalty_ = nullptr, *penalty_last_ = nullptr;
};

}  // namespace longhaul
