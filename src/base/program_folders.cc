#include "base/program_folders.h"

#include <system_error>

namespace longhaul {
namespace {

constexpr int kFoldersAboveProgram = 5;  // build/PRESET/src/cli/longhaul

}  // namespace

std::vector<std::filesystem::path> program_folders() {
  std::vector<std::filesystem::path> folders;
  std::error_code error;
  std::filesystem::path above =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  if (error) return folders;
  folders.push_back(above.parent_path() / "share" / "longhaul");
  for (int i = 0; i < kFoldersAboveProgram; ++i, above = above.parent_path()) {
    folders.push_back(above);
  }
  return folders;
}

}  // namespace longhaul
