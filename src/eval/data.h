#pragma once
// The texts that tasks are made of: files that travel with the project (data/, compressed) and
// those of a folder that the user names with --data.

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

class EvalData {
 public:
  /// Looks into `extra` first (--data DIR; empty for none), then into data_folders(). UserError
  /// when `extra` is no folder.
  explicit EvalData(const std::filesystem::path& extra = {});

  /// The text of a file such as "books/frankenstein.txt"; NAME.gz is found as well. Read once and
  /// kept. UserError names the file and --data when there is none, or says what is wrong with it.
  /// For one thread.
  const std::string& text(std::string_view name) const;
  bool has(std::string_view name) const;

 private:
  std::filesystem::path find(std::string_view name) const;  ///< empty when there is none

  std::vector<std::filesystem::path> folders_;
  mutable std::map<std::string, std::unique_ptr<std::string>, std::less<>> texts_;
};

/// $LONGHAUL_DATA; `data` in the folders above the program (a source tree); `share/longhaul/data`
/// beside its bin folder (an installation).
std::vector<std::filesystem::path> data_folders();

/// A whole file, unpacked when it is a gzip file. UserError: unreadable, damaged, or larger than
/// 1 GiB when unpacked.
std::string read_packed_file(const std::filesystem::path& path);

}  // namespace longhaul
