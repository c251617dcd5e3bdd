#pragma once
// A temporary folder that is removed together with its object.

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/error.h"

namespace longhaul {

/// Returns the folder for temporary files. Throws UserError that names TMPDIR if it is not a
/// folder.
inline std::filesystem::path temporary_folder() {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (!error) return folder;
  const char* named = std::getenv("TMPDIR");
  user_error("TMPDIR {}: {}", named != nullptr ? named : "/tmp", error.message());
}

class WorkFolder {
 public:
  /// Creates the folder `parent`/`name`XXXXXX. Throws UserError.
  WorkFolder(const std::filesystem::path& parent, const std::string& name) {
    std::string pattern = (parent / (name + "XXXXXX")).string();
    if (mkdtemp(pattern.data()) == nullptr) {
      user_error("{}: no folder can be made: {}", parent.string(), std::strerror(errno));
    }
    path_ = pattern;
  }
  ~WorkFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace longhaul
