#include "ops/cuda/cublas_library.h"

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <vector>

#include "base/error.h"

namespace longhaul::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 2> kNames = {"libcublasLt.so.13", "libcublasLt.so.12"};

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

/// The nvidia packages that python3 would import: those of PyTorch, for one.
std::vector<fs::path> python_folders() {
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
    const fs::path root = text.substr(at, end - at);
    folders.push_back(root / "cu13" / "lib");
    folders.push_back(root / "cublas" / "lib");
  }
  return folders;
}

void* open_in(const std::vector<fs::path>& folders, std::string& path, std::string& looked) {
  for (const fs::path& folder : folders) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) continue;
    looked += ", " + folder.string();
    for (const char* name : kNames) {
      path = (folder / name).string();
      if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    }
  }
  return nullptr;
}

void* open_anywhere(const std::string& folder, std::string& path) {
  std::string looked;
  void* library = nullptr;
  if (!folder.empty()) {
    library = open_in({folder}, path, looked);
    if (looked.empty()) user_error("--cuda-libs {}: is no folder", folder);
  } else {
    looked = ", the loader's path";
    for (const char* name : kNames) {
      path = name;
      if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (library != nullptr) return library;
    }
    library = open_in(toolkit_folders(), path, looked);
    if (library == nullptr) library = open_in(python_folders(), path, looked);
  }
  if (library != nullptr) return library;
  user_error(
      "found neither {} nor {} in {}; install NVIDIA's cuBLAS (of a CUDA toolkit, or the PyPI "
      "package nvidia-cublas), or name its folder with --cuda-libs",
      kNames[0], kNames[1], looked.substr(2));
}

template <class Function>
void take(void* library, const std::string& path, const char* name, Function& function) {
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) user_error("{}: has no function {}", path, name);
  function = reinterpret_cast<Function>(symbol);
}

CublasLibrary load(const std::string& folder) {
  CublasLibrary l{};
  void* library = open_anywhere(folder, l.path);
  const auto get = [&](const char* name, auto& function) { take(library, l.path, name, function); };
  get("cublasLtCreate", l.create);
  get("cublasLtDestroy", l.destroy);
  get("cublasLtMatmulDescCreate", l.create_operation);
  get("cublasLtMatmulDescDestroy", l.destroy_operation);
  get("cublasLtMatmulDescSetAttribute", l.set_operation);
  get("cublasLtMatrixLayoutCreate", l.create_layout);
  get("cublasLtMatrixLayoutSetAttribute", l.set_layout);
  get("cublasLtMatrixLayoutDestroy", l.destroy_layout);
  get("cublasLtMatmulPreferenceCreate", l.create_preference);
  get("cublasLtMatmulPreferenceDestroy", l.destroy_preference);
  get("cublasLtMatmulPreferenceSetAttribute", l.set_preference);
  get("cublasLtMatmulAlgoGetHeuristic", l.find);
  get("cublasLtMatmul", l.multiply);
  get("cublasLtGetVersion", l.get_version);
  l.version = l.get_version();
  return l;
}

}  // namespace

const CublasLibrary& open_cublas(const std::string& folder) {
  static std::mutex mutex;
  static std::unique_ptr<CublasLibrary> opened;  // the first that was found serves all
  const std::lock_guard lock(mutex);
  if (opened == nullptr) opened = std::make_unique<CublasLibrary>(load(folder));
  return *opened;
}

}  // namespace longhaul::cuda
