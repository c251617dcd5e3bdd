#pragma once
// DIR/samples.jsonl: all records of a run, including one that was killed while writing.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "eval/record.h"

namespace longhaul {

struct RecordFile {
  std::vector<Record> records;  ///< in file order
  /// Size of the complete lines. A killed run can leave an incomplete line after them, without
  /// newline. It is not a record, and a continuing run truncates the file here before it appends.
  uint64_t whole_bytes = 0;
  bool torn = false;
};

/// Without a file there are no records, but it is a UserError if a packed one (.gz) exists.
/// UserError "FILE line N: key ..." for a complete line that is not a record, and for a second
/// record with the same (task, opening, length, id, method).
RecordFile read_records(const std::filesystem::path& path);

}  // namespace longhaul
