#pragma once
// Appends records to DIR/samples.jsonl as they come, so that a kill or a power cut loses at most
// the line that it interrupts.

#include <filesystem>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "eval/record.h"

namespace longhaul {

/// What the records of a sample, asked in one way, say of its prompt.
struct FoundPrompt {
  std::string sample_hash;    ///< empty: from a program that did not write it
  std::string prompt_hash;    ///< of the whole prompt, as methods read it; empty: controls only
  int64_t prompt_tokens = 0;  ///< of the same
};

class RecordWriter {
 public:
  /// Continues the file if there is one: reads its records, cuts off a torn last line, takes out
  /// those with an error (they are asked again: there may be more memory now), and locks it against
  /// a second run. UserError when it is locked, damaged or cannot be written.
  explicit RecordWriter(const std::filesystem::path& folder);
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  /// Whether the record's (task, opening, length, id, method) is in the file.
  bool has(const Record& record) const;
  /// What the file said, when it was opened, of the prompt of the record's (task, opening, length,
  /// id); null when it held none of its answers. For any thread.
  const FoundPrompt* found_prompt(const Record& record) const;
  /// Records of one sample, those that the file has already left out; on disk when it returns.
  /// For any thread.
  void add(const std::vector<Record>& records);

  /// Of this run and of those before it. Not while threads add.
  const std::vector<Record>& records() const { return records_; }
  size_t found() const { return found_; }  ///< of them, in the file when it was opened

 private:
  void rewrite();  ///< the file, with records_
  void note_prompt(const Record& record);

  std::filesystem::path path_;
  int file_ = -1;
  mutable std::mutex mutex_;
  std::vector<Record> records_;
  std::unordered_set<std::string> keys_;
  std::unordered_map<std::string, FoundPrompt> prompts_;  ///< of what was found, by prompt_key()
  size_t found_ = 0;
};

}  // namespace longhaul
