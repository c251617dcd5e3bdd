#pragma once
// Folders that may contain the program's own files (models, data).

#include <filesystem>
#include <vector>

namespace longhaul {

/// `share/longhaul` of an installation, then the folders above the program (a build folder is
/// inside the source tree), nearest first. Existence is not checked.
std::vector<std::filesystem::path> program_folders();

}  // namespace longhaul
