#include "base/program_folders.h"

#include <dlfcn.h>

#include <string>
#include <system_error>

namespace longhaul {
namespace {

constexpr int kFoldersAboveProgram = 5;  // build/PRESET/src/cli/longhaul

/// The Python module that contains this function; empty in a program.
std::filesystem::path own_module() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_module), &info) == 0 || info.dli_fname == nullptr) {
    return {};
  }
  const std::filesystem::path file = info.dli_fname;
  return file.extension() == ".so" ? file : std::filesystem::path();
}

void add_above(std::filesystem::path above, std::vector<std::filesystem::path>& folders) {
  for (int i = 0; i < kFoldersAboveProgram; ++i, above = above.parent_path()) {
    folders.push_back(above);
  }
}

}  // namespace

std::vector<std::filesystem::path> program_folders() {
  std::vector<std::filesystem::path> folders;
  std::error_code error;
  if (const std::filesystem::path module = own_module(); !module.empty()) {
    const auto folder = std::filesystem::weakly_canonical(module, error).parent_path();
    folders.push_back(folder / "share" / "longhaul");  // a wheel
    add_above(folder, folders);
    return folders;
  }
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  if (error) return folders;
  folders.push_back(folder.parent_path() / "share" / "longhaul");
  add_above(folder, folders);
  return folders;
}

}  // namespace longhaul
