#pragma once
// A file on its way: written under a name of its own beside its target and put in the target's
// place when it is whole. Nobody can choose that name beforehand, so that no link laid there is
// followed, and two that write to one target do not meet.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

namespace longhaul {

/// Ends the names of such files, "TARGET.0123abcd.longhaul-part"; no file of the user has it.
inline constexpr std::string_view kPartSuffix = ".longhaul-part";
/// How much longer such a name is than its target's.
inline constexpr size_t kPartNameBytes = 9 + kPartSuffix.size();

class PartFile {
 public:
  /// Empty, with errno set, where none can be made. Takes away what killed processes of this user
  /// have left of earlier parts of the same target.
  static std::optional<PartFile> create(const std::filesystem::path& target);
  /// Takes the file away unless it was put in place.
  ~PartFile();
  PartFile(PartFile&& other) noexcept
      : file_(std::exchange(other.file_, -1)), path_(std::exchange(other.path_, {})) {}
  PartFile& operator=(PartFile&&) = delete;

  int get() const { return file_; }  ///< to write to; locked (flock) as long as it is open
  const std::filesystem::path& path() const { return path_; }
  /// False, with errno set, when it cannot be renamed.
  bool put_in_place(const std::filesystem::path& target);
  /// The open file is the caller's now.
  int release() { return std::exchange(file_, -1); }

 private:
  PartFile(int file, std::filesystem::path path) : file_(file), path_(std::move(path)) {}

  int file_;
  std::filesystem::path path_;  // empty: in place
};

}  // namespace longhaul
