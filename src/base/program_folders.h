#pragma once
// Folders that may contain the program's own files (models, data).

#include <filesystem>
#include <vector>

namespace longhaul {

/// Returns `share/longhaul` of an installation, and then the folders above the program, nearest
/// first, since a build folder is inside the source tree. The folders need not exist.
std::vector<std::filesystem::path> program_folders();

}  // namespace longhaul
