#pragma once
// Appends records to DIR/samples.jsonl as they come, so that a kill or a power failure loses at
// most the line being written.

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "eval/record.h"

namespace longhaul {

/// The prompt of a sample according to its records (with or without opening words).
struct FoundPrompt {
  std::string sample_hash;  ///< empty: written by a program version without it
  std::string prompt_hash;  ///< hash of the whole prompt as methods read it; empty: only baselines
                            ///< have answered
  int64_t prompt_tokens = 0;  ///< tokens of the whole prompt
};

class RecordWriter {
 public:
  /// Locks the folder's file against other runs and reads its contents without changing them. If
  /// there is none, it creates an empty file, which is removed again unless begin() follows.
  /// Records with an error are skipped and computed again, because more memory may be available
  /// now. Throws UserError if the file is locked, damaged or not writable, or holds answers to
  /// different prompts of one sample.
  explicit RecordWriter(const std::filesystem::path& folder);
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  /// Removes the skipped records and an incomplete last line from the file. Call it before the
  /// first add().
  void begin();

  /// Returns whether the file has a record with the same (task, opening, length, id, method).
  bool has(const Record& record) const;
  /// Returns the prompt for the record's (task, opening, length, id) that the file contained when
  /// it was opened, or null if it contained no such record. Thread-safe.
  const FoundPrompt* found_prompt(const Record& record) const;
  /// Adds the records of one sample, except records that are already in the file. The records are
  /// on disk when it returns. Thread-safe.
  void add(const std::vector<Record>& records);

  /// Records of this run and of earlier ones. Do not call while threads add.
  const std::vector<Record>& records() const { return records_; }
  size_t found() const { return found_; }  ///< number of records in the file when it was opened

 private:
  void leave();    ///< closes the file; removes it if it is empty and no run has begun
  void rewrite();  ///< rewrites the file from records_
  void note_prompt(const Record& record);
  void append(const std::string& lines);

  std::filesystem::path path_;
  int file_ = -1;
  bool torn_ = false;         ///< the file ends with an incomplete line
  uint64_t whole_bytes_ = 0;  ///< size before the incomplete line when the file was opened
  bool failures_ = false;     ///< the file contains records with an error
  bool begun_ = false;
  mutable std::mutex mutex_;
  std::vector<Record> records_;
  std::unordered_set<std::string> keys_;
  /// prompts found in the file, by prompt_key()
  std::unordered_map<std::string, FoundPrompt> prompts_;
  size_t found_ = 0;
};

}  // namespace longhaul
