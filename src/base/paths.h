#pragma once
// Examines paths without throwing exceptions.

#include <filesystem>
#include <system_error>

namespace longhaul {

/// Returns whether the path exists. Also returns true if the path cannot be examined. The caller
/// then tries to open the path, and this attempt reports the reason.
inline bool is_there(const std::filesystem::path& path) {
  std::error_code unreadable;
  return std::filesystem::exists(path, unreadable) || unreadable;
}

inline bool is_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

/// Returns whether the path is a regular file or a link to a regular file.
inline bool is_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

}  // namespace longhaul
