#pragma once
// Reads DIR/samples.jsonl, which contains all records of a run. The file may be incomplete, because
// the run may have been killed while writing.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "eval/record.h"

namespace longhaul {

struct RecordFile {
  std::vector<Record> records;  ///< in file order
  /// Size in bytes of all complete lines. A killed run can leave an incomplete last line, without a
  /// newline, which is not a record. A run that continues truncates the file to whole_bytes before
  /// it appends.
  uint64_t whole_bytes = 0;
  bool torn = false;  ///< whether there is an incomplete last line
};

/// Reads the records. If the file does not exist, there are no records. Throws UserError if it does
/// not exist but a compressed file (.gz) does. Throws UserError "FILE line N: key ..." for a
/// complete line that is not a record, and for a second record with the same (task, opening,
/// length, id, method).
RecordFile read_records(const std::filesystem::path& path);

}  // namespace longhaul
