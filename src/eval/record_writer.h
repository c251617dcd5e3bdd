#pragma once
// RecordWriter appends records to DIR/samples.jsonl as soon as they exist. A kill or a power
// failure therefore loses at most the line that is being written.

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "eval/record.h"

namespace longhaul {

/// The prompt of a sample as the records of an earlier run describe it.
struct FoundPrompt {
  std::string sample_hash;  ///< empty: an older program version wrote the record
  /// Record::prompt_hash of the methods. It is empty if the file has only answers of baselines,
  /// whose prompts are shortened.
  std::string prompt_hash;
  int64_t prompt_tokens = 0;  ///< tokens of the whole prompt
};

class RecordWriter {
 public:
  /// Locks the file samples.jsonl in the folder against other runs, and reads it without changing
  /// it. If there is no file, an empty file is created, which the destructor removes again if
  /// begin() was not called. Records with an error are ignored, so that the run computes these
  /// answers again: more memory may be available now. Throws UserError if the file is locked,
  /// damaged or not writable, or if it contains answers to different prompts of the same sample.
  explicit RecordWriter(const std::filesystem::path& folder);
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  /// Removes records with an error and an incomplete last line from the file. Call it before the
  /// first add().
  void begin();

  /// Returns whether the file has a record with the same (task, opening, length, id, method).
  bool has(const Record& record) const;
  /// Returns the prompt to which records with the same (task, opening, length, id) belong, if the
  /// file had such records when it was opened. Otherwise returns null. Thread-safe.
  const FoundPrompt* found_prompt(const Record& record) const;
  /// Appends the records of one sample, except records that are already in the file. When it
  /// returns, the records are on disk. Thread-safe.
  void add(const std::vector<Record>& records);

  /// Returns the records of this run and of earlier ones. Do not call it while threads add records.
  const std::vector<Record>& records() const { return records_; }
  /// Returns the number of records in the file when it was opened.
  size_t found() const { return found_; }

 private:
  void leave();    ///< closes the file, and removes it if it is empty and begin() was not called
  void rewrite();  ///< rewrites the file from records_
  void note_prompt(const Record& record);
  void append(const std::string& lines);

  std::filesystem::path path_;
  int file_ = -1;
  bool torn_ = false;         ///< whether the file ends with an incomplete line
  uint64_t whole_bytes_ = 0;  ///< bytes of complete lines when the file was opened
  bool failures_ = false;     ///< whether the file contains records with an error
  bool begun_ = false;
  mutable std::mutex mutex_;
  std::vector<Record> records_;
  std::unordered_set<std::string> keys_;
  /// Prompts in the file, by prompt_key().
  std::unordered_map<std::string, FoundPrompt> prompts_;
  size_t found_ = 0;
};

}  // namespace longhaul
