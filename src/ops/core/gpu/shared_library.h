#pragma once
// Libraries of NVIDIA's that the program neither carries nor is linked with: opened when they are
// needed.

#include <span>
#include <string>
#include <string_view>

namespace longhaul::cuda {

/// What is looked for: the first of `names` (libX.so.13) that the loader finds, then in the
/// toolkits under /usr/local, then in the folder `package` of the nvidia packages of the first
/// python3 of PATH, those of PyTorch, for one.
struct LibraryNames {
  std::span<const char* const> names;
  std::span<const char* const> packages;  ///< "cublas/lib"
  std::string_view remedy;                ///< for people, what to install
};

/// An opened library, which stays open for good.
class SharedLibrary {
 public:
  /// Throws UserError that says where it looked and what to install.
  explicit SharedLibrary(const LibraryNames& names);

  const std::string& path() const { return path_; }  ///< as it was opened
  /// Throws UserError where the library has no such function.
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
