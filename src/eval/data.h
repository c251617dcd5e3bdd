#pragma once
// The texts for tasks: files of the project (data/, compressed) and of a user's folder (--data).

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

class EvalData {
 public:
  /// Searches `extra` first (--data DIR; empty for none), then data_folders(). UserError if `extra`
  /// is not a folder.
  explicit EvalData(const std::filesystem::path& extra = {});

  /// The text of a file such as "books/frankenstein.txt"; NAME.gz is found as well. It is read once
  /// and kept. UserError names the file and --data if it is missing, or describes its problem. For
  /// one thread.
  const std::string& text(std::string_view name) const;
  bool has(std::string_view name) const;

 private:
  std::filesystem::path find(std::string_view name) const;  ///< empty if there is none

  std::vector<std::filesystem::path> folders_;
  mutable std::map<std::string, std::unique_ptr<std::string>, std::less<>> texts_;
};

/// $LONGHAUL_DATA; `data` in the folders above the program (a source tree); `share/longhaul/data`
/// beside its bin folder (an installation).
std::vector<std::filesystem::path> data_folders();

/// Reads a whole file and unpacks it if it is a gzip file. UserError if it is unreadable, damaged,
/// or larger than 1 GiB when unpacked.
std::string read_packed_file(const std::filesystem::path& path);

}  // namespace longhaul
