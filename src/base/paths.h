#pragma once
// What stands at a path, asked without exceptions.

#include <filesystem>
#include <system_error>

namespace longhaul {

/// A path that cannot be examined counts as existing: whoever opens it reports the reason.
inline bool is_there(const std::filesystem::path& path) {
  std::error_code unreadable;
  return std::filesystem::exists(path, unreadable) || unreadable;
}

inline bool is_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

/// A regular file, or a link to one.
inline bool is_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

}  // namespace longhaul
