#pragma once
// Opens NVIDIA libraries on first use. The program neither contains them nor is linked with them.

#include <span>
#include <string>
#include <string_view>

namespace longhaul::cuda {

/// Describes a library to search for. Each of `names` (such as libX.so.13) is tried in order. The
/// search covers the paths of the loader, the CUDA toolkits under /usr/local, and the folders
/// `packages` in the nvidia packages of the first python3 in PATH (PyTorch installs them, for
/// example).
struct LibraryNames {
  std::span<const char* const> names;
  std::span<const char* const> packages;  ///< folders such as "cublas/lib"
  std::string_view remedy;                ///< installation advice for error messages
};

/// An opened library. The library stays loaded until the program ends.
class SharedLibrary {
 public:
  /// Throws UserError with the searched places and installation advice.
  explicit SharedLibrary(const LibraryNames& names);

  const std::string& path() const { return path_; }  ///< returns the path of the opened library
  /// Looks up the function `name`. Throws UserError if the library does not have it.
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
