#include "ops/core/gpu/shared_library.h"

#include <dlfcn.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/error.h"

namespace longhaul::cuda {
namespace {

namespace fs = std::filesystem;

/// lib64 and targets/*/lib of every toolkit under /usr/local.
std::vector<fs::path> toolkit_folders() {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/usr/local", error)) {
    if (entry.path().filename().string().rfind("cuda", 0) != 0) continue;
    folders.push_back(entry.path() / "lib64");
    for (const auto& target : fs::directory_iterator(entry.path() / "targets", error)) {
      folders.push_back(target.path() / "lib");
    }
  }
  return folders;
}

/// Folders of the nvidia packages that python3 would import.
std::vector<fs::path> python_folders(std::span<const char* const> packages) {
  constexpr const char* kCommand =
      "python3 -c 'import nvidia; print(\"\\n\".join(nvidia.__path__))' 2>/dev/null";
  std::FILE* pipe = popen(kCommand, "r");
  if (pipe == nullptr) return {};
  std::string text;
  char part[512];
  while (std::fgets(part, sizeof part, pipe) != nullptr) text += part;
  pclose(pipe);
  std::vector<fs::path> folders;
  for (size_t at = 0, end; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    for (const char* package : packages)
      folders.push_back(text.substr(at, end - at) / fs::path(package));
  }
  return folders;
}

void* open_in(const std::vector<fs::path>& folders, std::span<const char* const> names,
              std::string& path, std::string& looked) {
  for (const fs::path& folder : folders) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) continue;
    looked += ", " + folder.string();
    for (const char* name : names) {
      path = (folder / name).string();
      if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    }
  }
  return nullptr;
}

}  // namespace

SharedLibrary::SharedLibrary(const LibraryNames& of) {
  std::string looked = "the loader's path";
  for (const char* name : of.names) {
    path_ = name;
    if (library_ == nullptr) library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library_ != nullptr) return;
  }
  library_ = open_in(toolkit_folders(), of.names, path_, looked);
  if (library_ == nullptr) library_ = open_in(python_folders(of.packages), of.names, path_, looked);
  if (library_ != nullptr) return;
  user_error("found no {} in {}; {}, or name its folder in LD_LIBRARY_PATH",
             fmt::join(of.names, " or "), looked, of.remedy);
}

void* SharedLibrary::symbol(const char* name) const {
  void* const symbol = dlsym(library_, name);
  if (symbol == nullptr) user_error("{}: has no function {}", path_, name);
  return symbol;
}

}  // namespace longhaul::cuda
