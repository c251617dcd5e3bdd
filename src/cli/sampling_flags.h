#pragma once
// How the next token is chosen and when the reply ends.

#include <string>
#include <vector>

#include "cli/cli11_names.h"
#include "engine/generate.h"

namespace longhaul {

struct SamplingFlags {
  SamplerOptions sampler;
  int64_t max_tokens = 1024;
  std::vector<std::string> stop;
  bool loops = false;  ///< a reply that repeats itself goes on

  void add_to(CLI::App& app);
  /// The model's own wishes, but for what the user has named. Returns whether anything is left of
  /// them: a temperature that is named takes all in the user's hand.
  bool take_defaults(const SamplerOptions& defaults);
  /// Chooses a seed when the user named none and one matters.
  GenerateOptions options(const CancelFlag* cancel) const;

 private:
  CLI::Option *seed_ = nullptr, *temperature_ = nullptr, *top_k_ = nullptr, *top_p_ = nullptr,
              *min_p_ = nullptr, *penalty_ = nullptr, *penalty_last_ = nullptr;
};

}  // namespace longhaul
