#pragma once
// Creates files and folders under a temporary name. Such a file or folder is called a part. It is
// in the folder of its target, and is renamed to the target when it is complete. The temporary name
// is random. An attacker can therefore not prepare a link with this name, and two writers of the
// same target do not conflict.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

namespace longhaul {

/// The suffix of temporary names, such as "TARGET.0123abcd.longhaul-part". It is unusual, so user
/// files are not expected to have it.
inline constexpr std::string_view kPartSuffix = ".longhaul-part";
/// The number of characters that a temporary name adds to the name of the target.
inline constexpr size_t kPartNameBytes = 9 + kPartSuffix.size();

class PartFile {
 public:
  /// Creates a part for `target`. On failure, returns nothing and sets errno. Also removes older
  /// parts of the same target. Such parts remain if a process of this user was killed.
  static std::optional<PartFile> create(const std::filesystem::path& target);
  /// Removes the file unless it has been renamed to the target.
  ~PartFile();
  PartFile(PartFile&& other) noexcept
      : file_(std::exchange(other.file_, -1)), path_(std::exchange(other.path_, {})) {}
  PartFile& operator=(PartFile&&) = delete;

  /// Returns the descriptor for writing; the file is locked (flock) while open.
  int get() const { return file_; }
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
  /// Creates a part for `target`. On failure, returns nothing and sets errno. Also removes older
  /// parts of the same target. Such parts remain if a process of this user was killed.
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
