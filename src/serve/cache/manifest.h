#pragma once
// The manifest of a folder of session files. It has one line of JSON for each change.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "serve/cache/snapshot.h"

namespace longhaul::serve {

/// A session file and its position in the prefix cache.
struct StoredFile {
  std::string name;  ///< file name without folder
  TreeKey key;
  std::vector<int32_t> tokens;  ///< tokens, which are in a separate file and not in the manifest
  int64_t count = 0;            ///< number of tokens
  std::vector<Leg> legs;
  double seconds = 0;
  bool marked = false, cold = true;
  std::string session;            ///< name of a saved session; empty: none
  std::vector<std::string> pins;  ///< documents that need the file (Job::pin)
  std::string parent;             ///< file that holds the first rows; empty: none
  int64_t parent_tokens = 0;
  size_t bytes = 0;
  uint64_t fingerprint = 0;
};

/// added_line() returns the line that adds a file, and removed_line() the line that removes one.
std::string added_line(const StoredFile& file);
std::string removed_line(const std::string& name);

/// Returns the files that are listed after all lines have been applied. Lines that cannot be parsed
/// are skipped and counted. Such a line remains, for example, if a process was killed. File names
/// with a folder are rejected.
std::map<std::string, StoredFile> read_manifest_lines(std::string_view text, int& unreadable);

}  // namespace longhaul::serve
