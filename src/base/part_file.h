#pragma once
// Files and folders under construction (parts). A part is written under a temporary name in the
// folder of its target, and is renamed to the target when it is complete. The temporary name is
// random. Nobody can therefore prepare a link with this name, and two writers of the same target do
// not conflict.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

namespace longhaul {

/// Suffix of temporary names: "TARGET.0123abcd.longhaul-part". No user file should have it.
inline constexpr std::string_view kPartSuffix = ".longhaul-part";
/// Number of characters that a temporary name adds to the target's name.
inline constexpr size_t kPartNameBytes = 9 + kPartSuffix.size();

class PartFile {
 public:
  /// Creates a part for `target`. Returns nothing and sets errno on failure. Removes parts of the
  /// same target that killed processes of this user have left.
  static std::optional<PartFile> create(const std::filesystem::path& target);
  /// Removes the file unless it has been renamed to the target.
  ~PartFile();
  PartFile(PartFile&& other) noexcept
      : file_(std::exchange(other.file_, -1)), path_(std::exchange(other.path_, {})) {}
  PartFile& operator=(PartFile&&) = delete;

  int get() const { return file_; }  ///< descriptor for writing; locked (flock) while open
  const std::filesystem::path& path() const { return path_; }
  /// Renames the file to the target. Returns false and sets errno on failure.
  bool put_in_place(const std::filesystem::path& target);
  /// Transfers ownership of the open file to the caller.
  int release() { return std::exchange(file_, -1); }

 private:
  PartFile(int file, std::filesystem::path path) : file_(file), path_(std::move(path)) {}

  int file_;
  std::filesystem::path path_;  // empty after put_in_place()
};

/// A folder under construction. It is locked as long as this object exists.
class PartFolder {
 public:
  /// Creates a part for `target`. Returns nothing and sets errno on failure. Removes parts of the
  /// same target that killed processes of this user have left.
  static std::optional<PartFolder> create(const std::filesystem::path& target);
  /// Removes the folder and its contents, unless it has been renamed to the target.
  ~PartFolder();
  PartFolder(PartFolder&& other) noexcept
      : folder_(std::exchange(other.folder_, -1)), path_(std::exchange(other.path_, {})) {}
  PartFolder& operator=(PartFolder&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Renames the folder to the target. Returns false and sets errno on failure. An existing target
  /// is not replaced (EEXIST).
  bool put_in_place(const std::filesystem::path& target);

 private:
  PartFolder(int folder, std::filesystem::path path) : folder_(folder), path_(std::move(path)) {}

  int folder_;
  std::filesystem::path path_;  // empty after put_in_place()
};

}  // namespace longhaul
