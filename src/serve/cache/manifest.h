#pragma once
// The manifest of a folder of session files: one line of JSON for each change.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "serve/cache/snapshot.h"

namespace longhaul::serve {

/// A session file and its place in the prefix cache.
struct StoredFile {
  std::string name;  ///< without a folder
  TreeKey key;
  std::vector<int32_t> tokens;  ///< in a file of their own, not in the manifest
  int64_t count = 0;            ///< number of tokens
  std::vector<Leg> legs;
  double seconds = 0;
  bool marked = false, cold = true;
  std::string session;            ///< name of a saved session; empty: none
  std::vector<std::string> pins;  ///< documents that need it (Job::pin)
  std::string parent;             ///< file with the first rows; empty: none
  int64_t parent_tokens = 0;
  size_t bytes = 0;
  uint64_t fingerprint = 0;
};

/// Lines that add a file, remove one, and change its session.
std::string added_line(const StoredFile& file);
std::string removed_line(const std::string& name);

/// The files that remain after all lines. Lines that cannot be read, such as the last one of a
/// process that was killed, are left out and counted. Names with a folder are never accepted.
std::map<std::string, StoredFile> read_manifest_lines(std::string_view text, int& unreadable);

}  // namespace longhaul::serve
