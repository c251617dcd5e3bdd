#pragma once
// EvalData finds and reads the files from which tasks make their samples. The files are in the
// project's folder data/ (compressed) or in a folder of the user (--data).

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

class EvalData {
 public:
  /// Files are searched first in `extra` (--data DIR; may be empty), and then in data_folders().
  /// Throws UserError if `extra` is not a folder.
  explicit EvalData(const std::filesystem::path& extra = {});

  /// Returns the text of a file such as "books/frankenstein.txt". The file may also be compressed
  /// as NAME.gz. A file is read once and kept in memory. Throws a UserError that names the file and
  /// --data if the file is missing. Throws a UserError that describes the problem if the file
  /// cannot be read. The function is not thread-safe.
  const std::string& text(std::string_view name) const;
  bool has(std::string_view name) const;

 private:
  /// Returns an empty path if there is no such file.
  std::filesystem::path find(std::string_view name) const;

  std::vector<std::filesystem::path> folders_;
  mutable std::map<std::string, std::unique_ptr<std::string>, std::less<>> texts_;
};

/// Returns the folders to search: $LONGHAUL_DATA, `data` in the folders above the program (source
/// tree), and `share/longhaul/data` beside the program's bin folder (installation).
std::vector<std::filesystem::path> data_folders();

/// Reads a whole file and unpacks it if it is a gzip file. Throws UserError if it is unreadable,
/// damaged, or larger than 1 GiB when unpacked.
std::string read_packed_file(const std::filesystem::path& path);

}  // namespace longhaul
