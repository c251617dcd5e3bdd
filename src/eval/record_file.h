#pragma once
// DIR/samples.jsonl: all records of a run, also of one that was killed while it wrote.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "eval/record.h"

namespace longhaul {

struct RecordFile {
  std::vector<Record> records;  ///< in the file's order
  /// Bytes of whole lines. A kill can leave a torn line behind them, without its newline: it is no
  /// record, and a run that continues cuts the file here before it appends.
  uint64_t whole_bytes = 0;
  bool torn = false;
};

/// No file: no records, but UserError where it lies there packed (.gz). UserError "FILE line N: key
/// ..." for a whole line that is no record, and for a second record of the same (task, opening,
/// length, id, method).
RecordFile read_records(const std::filesystem::path& path);

}  // namespace longhaul
