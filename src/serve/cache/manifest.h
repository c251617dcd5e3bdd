#pragma once
// Reads and writes the manifest of a folder of session files. The manifest lists the files. It has
// one line of JSON for each file that was added or removed.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "serve/cache/snapshot.h"

namespace longhaul::serve {

/// A session file that holds a snapshot of the prefix cache.
struct StoredFile {
  std::string name;  ///< file name without folder
  TreeKey key;
  /// Tokens of the snapshot; they are stored in a separate file, not in the manifest.
  std::vector<int32_t> tokens;
  int64_t count = 0;  ///< number of tokens
  std::vector<Leg> legs;
  /// `seconds`, `marked` and `cold` have the same meanings as in Snapshot.
  double seconds = 0;
  bool marked = false, cold = true;
  std::string session;            ///< name of a saved session; empty: none
  std::vector<std::string> pins;  ///< ids of the documents that need the file (Job::pin)
  /// Name of the file with the keys and values of the first parent_tokens tokens, which this file
  /// does not repeat; empty: none.
  std::string parent;
  int64_t parent_tokens = 0;
  size_t bytes = 0;
  uint64_t fingerprint = 0;
};

/// added_line() returns the line that adds a file, and removed_line() the line that removes one.
std::string added_line(const StoredFile& file);
std::string removed_line(const std::string& name);

/// Applies all lines of a manifest in order, and returns the files that remain. `unreadable`
/// receives the number of lines that cannot be parsed; they are skipped. For example, a process
/// that was killed may have written an incomplete line. File names that contain a folder are also
/// counted as unreadable.
std::map<std::string, StoredFile> read_manifest_lines(std::string_view text, int& unreadable);

}  // namespace longhaul::serve
