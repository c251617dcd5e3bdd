#pragma once
// Finds the folders that may contain the program's own files (models, data).

#include <filesystem>
#include <vector>

namespace longhaul {

/// Returns the folder `share/longhaul` of an installation, followed by the folders above the
/// program, nearest first. A program in a build folder finds the source tree in this way. The
/// folders need not exist.
std::vector<std::filesystem::path> program_folders();

}  // namespace longhaul
