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

  void add_to(CLI::App& app);
  /// Chooses a seed when the user named none and one matters.
  GenerateOptions options(const CancelFlag* cancel) const;

 private:
  CLI::Option* seed_ = nullptr;
};

}  // namespace longhaul
