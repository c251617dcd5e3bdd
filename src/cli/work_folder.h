#pragma once
// Defines WorkFolder, a temporary folder that is removed by the destructor of the object.

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/error.h"

namespace longhaul {

/// Returns the folder for temporary files. Throws UserError if the variable TMPDIR does not name a
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
  /// Creates the folder `parent`/`name`XXXXXX, where XXXXXX are random characters. Throws UserError
  /// if this fails.
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
