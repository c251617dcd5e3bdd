#pragma once
// Where the program's own files may lie: models, data.

#include <filesystem>
#include <vector>

namespace longhaul {

/// `share/longhaul` of an installation, then the folders above the program (a build folder lies
/// within the source tree), nearest first. Whether a folder is there is not looked at.
std::vector<std::filesystem::path> program_folders();

}  // namespace longhaul
