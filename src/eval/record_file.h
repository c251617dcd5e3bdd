#pragma once
// Reads DIR/samples.jsonl, which contains all records of a run. The last line may be incomplete if
// the run was killed while it wrote the line.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "eval/record.h"

namespace longhaul {

struct RecordFile {
  std::vector<Record> records;  ///< in file order
  /// Size of all complete lines in bytes. A run that continues truncates the file to whole_bytes
  /// before it appends, which removes an incomplete last line.
  uint64_t whole_bytes = 0;
  bool torn = false;  ///< whether the last line is incomplete, because it has no newline
};

/// Reads the records. If the file does not exist, there are no records. Throws UserError if only a
/// compressed file (.gz) exists. Throws UserError "FILE line N: key ..." for a complete line that
/// is not a record, and for a second record with the same (task, opening, length, id, method).
RecordFile read_records(const std::filesystem::path& path);

}  // namespace longhaul
