#pragma once
// Reads DIR/samples.jsonl, which contains all records of a run. The run may have been killed while
// writing.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "eval/record.h"

namespace longhaul {

struct RecordFile {
  std::vector<Record> records;  ///< in file order
  /// Size of the complete lines. A killed run can leave an incomplete last line without newline,
  /// which is not a record. A run that continues truncates the file to whole_bytes before it
  /// appends.
  uint64_t whole_bytes = 0;
  bool torn = false;
};

/// Reads the records. If the file does not exist, there are no records; but if a packed file (.gz)
/// exists, UserError is thrown. Throws UserError "FILE line N: key ..." for a complete line that is
/// not a record, and for a second record with the same (task, opening, length, id, method).
RecordFile read_records(const std::filesystem::path& path);

}  // namespace longhaul
