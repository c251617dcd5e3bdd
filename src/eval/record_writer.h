#pragma once
// Appends records to DIR/samples.jsonl as they come, so that a kill or a power cut loses at most
// the line that it interrupts.

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "eval/record.h"

namespace longhaul {

/// What the records of a sample say of its prompt (with opening words, or without).
struct FoundPrompt {
  std::string sample_hash;    ///< empty: from a program that did not write it
  std::string prompt_hash;    ///< of the whole prompt, as methods read it; empty: controls only
  int64_t prompt_tokens = 0;  ///< of the same
};

class RecordWriter {
 public:
  /// Locks the folder's file against a second run and reads what it holds, which stays as it is;
  /// makes an empty one where there is none, which is gone again unless begin() follows. Records
  /// with an error are left out: they are asked again, there may be more memory now. UserError when
  /// it is locked, damaged, cannot be written, or holds answers to different prompts of one sample.
  explicit RecordWriter(const std::filesystem::path& folder);
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  /// Takes what was left out, and a torn last line, from the file. Before the first add().
  void begin();

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
  void leave();    ///< closes the file; an empty one that no run has begun goes
  void rewrite();  ///< the file, with records_
  void note_prompt(const Record& record);
  void append(const std::string& lines);

  std::filesystem::path path_;
  int file_ = -1;
  bool torn_ = false;         ///< the file ends in half a line
  uint64_t whole_bytes_ = 0;  ///< before it, when the file was opened
  bool failures_ = false;     ///< the file holds records with an error
  bool begun_ = false;
  mutable std::mutex mutex_;
  std::vector<Record> records_;
  std::unordered_set<std::string> keys_;
  std::unordered_map<std::string, FoundPrompt> prompts_;  ///< of what was found, by prompt_key()
  size_t found_ = 0;
};

}  // namespace longhaul
