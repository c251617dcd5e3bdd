#pragma once
// Opens NVIDIA libraries on first use. The program neither contains them nor is linked with them.

#include <span>
#include <string>
#include <string_view>

namespace longhaul::cuda {

/// Describes a library to search for. The `names` (such as libX.so.13) are tried in order. The
/// search covers the paths of the loader, the CUDA toolkits under /usr/local, and the folders
/// `packages`. These are subfolders of the folder `nvidia` among the Python packages of the first
/// python3 in PATH, where PyTorch, for example, installs such libraries.
struct LibraryNames {
  std::span<const char* const> names;
  std::span<const char* const> packages;  ///< folders such as "cublas/lib"
  std::string_view remedy;                ///< installation advice for error messages
};

/// An opened library. The library stays loaded until the program ends.
class SharedLibrary {
 public:
  /// Opens the library. Throws UserError with the searched places and installation advice if it is
  /// not found.
  explicit SharedLibrary(const LibraryNames& names);

  const std::string& path() const { return path_; }  ///< returns the path of the opened library
  /// Sets `function` to the library's function `name`. Throws UserError if the library does not
  /// have this function.
  template <class Function>
  void take(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;

  std::string path_;
  void* library_ = nullptr;
};

}  // namespace longhaul::cuda
