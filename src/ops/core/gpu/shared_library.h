#pragma once
// NVIDIA libraries that the program neither contains nor is linked with. They are opened on first
// use.

#include <span>
#include <string>
#include <string_view>

namespace longhaul::cuda {

/// A library to look for. The first of `names` (libX.so.13) that is found is opened. The search
/// covers the loader's paths, the toolkits under /usr/local, and the folder `package` in the nvidia
/// packages (such as PyTorch's) of the first python3 in PATH.
struct LibraryNames {
  std::span<const char* const> names;
  std::span<const char* const> packages;  ///< "cublas/lib"
  std::string_view remedy;                ///< installation advice for users
};

/// An opened library. It stays open until the program ends.
class SharedLibrary {
 public:
  /// Throws UserError with the searched places and installation advice.
  explicit SharedLibrary(const LibraryNames& names);

  const std::string& path() const { return path_; }  ///< path that was opened
  /// Throws UserError if the library has no such function.
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
