#pragma once
// A file under construction: it is written under a unique name beside its target and renamed to the
// target when it is complete. The name is unpredictable, so no prepared link is followed, and two
// writers of the same target do not conflict.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

namespace longhaul {

/// Suffix of such file names, "TARGET.0123abcd.longhaul-part"; no user file has it.
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

}  // namespace longhaul
