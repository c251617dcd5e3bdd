#pragma once
// A file or folder under construction: it is written under a unique name beside its target and
// renamed to the target when it is complete. The name is unpredictable, so no prepared link is
// followed, and two writers of the same target do not conflict.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

namespace longhaul {

/// Suffix of such names, "TARGET.0123abcd.longhaul-part"; no user file has it.
inline constexpr std::string_view kPartSuffix = ".longhaul-part";
/// Length of such a name beyond its target's.
inline constexpr size_t kPartNameBytes = 9 + kPartSuffix.size();

class PartFile {
 public:
  /// Returns nothing and sets errno on failure. Removes earlier parts of the same target left by
  /// killed processes of this user.
  static std::optional<PartFile> create(const std::filesystem::path& target);
  /// Removes the file unless it was put in place.
  ~PartFile();
  PartFile(PartFile&& other) noexcept
      : file_(std::exchange(other.file_, -1)), path_(std::exchange(other.path_, {})) {}
  PartFile& operator=(PartFile&&) = delete;

  int get() const { return file_; }  ///< descriptor for writing; locked (flock) while open
  const std::filesystem::path& path() const { return path_; }
  /// Returns false and sets errno if it cannot be renamed.
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
  /// Empty, with errno set, where none can be made. Takes away what killed processes of this user
  /// have left of earlier parts of the same target.
  static std::optional<PartFolder> create(const std::filesystem::path& target);
  /// Takes the folder away with all that is in it, unless it was put in place.
  ~PartFolder();
  PartFolder(PartFolder&& other) noexcept
      : folder_(std::exchange(other.folder_, -1)), path_(std::exchange(other.path_, {})) {}
  PartFolder& operator=(PartFolder&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// False, with errno set, when it cannot be renamed. A target that is there stays (EEXIST).
  bool put_in_place(const std::filesystem::path& target);

 private:
  PartFolder(int folder, std::filesystem::path path) : folder_(folder), path_(std::move(path)) {}

  int folder_;
  std::filesystem::path path_;  // empty: in place
};

}  // namespace longhaul
