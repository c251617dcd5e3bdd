#include "eval/record_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/error.h"
#include "eval/durable_file.h"
#include "eval/record_file.h"

namespace longhaul {
namespace {

int open_locked(const std::filesystem::path& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) refuse_write(path);
  if (flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  close(file);
  user_error("{}: another run is writing it", path.string());
}

}  // namespace

RecordWriter::RecordWriter(const std::filesystem::path& folder) : path_(folder / "samples.jsonl") {
  file_ = open_locked(path_);
  try {
    RecordFile held = read_records(path_);
    if (held.torn && ftruncate(file_, static_cast<off_t>(held.whole_bytes)) != 0)
      refuse_write(path_);
    records_ = std::move(held.records);
    if (std::erase_if(records_, [](const Record& r) { return !r.error.empty(); }) > 0) rewrite();
    sync_folder(folder);
  } catch (...) {
    close(file_);
    throw;
  }
  for (const Record& record : records_) {
    keys_.insert(record.key());
    note_prompt(record);
  }
  found_ = records_.size();
}

void RecordWriter::rewrite() {
  const std::filesystem::path fresh = path_.string() + ".new";
  std::filesystem::remove(fresh);
  const int file = open_locked(fresh);
  std::string lines;
  for (const Record& record : records_) lines += to_json(record) + "\n";
  try {
    write_all(file, lines, fresh);
    sync_file(file, fresh);
    std::filesystem::rename(fresh, path_);
  } catch (...) {
    close(file);
    throw;
  }
  close(file_);
  file_ = file;
}

void RecordWriter::note_prompt(const Record& record) {
  FoundPrompt& prompt = prompts_[record.prompt_key()];
  if (prompt.sample_hash.empty()) prompt.sample_hash = record.sample_hash;
  if (!prompt.prompt_hash.empty() || record.of_control()) return;
  prompt.prompt_hash = record.prompt_hash;
  prompt.prompt_tokens = record.prompt_tokens;
}

RecordWriter::~RecordWriter() { close(file_); }

bool RecordWriter::has(const Record& record) const {
  const std::lock_guard lock(mutex_);
  return keys_.count(record.key()) > 0;
}

const FoundPrompt* RecordWriter::found_prompt(const Record& record) const {
  const auto found = prompts_.find(record.prompt_key());
  return found == prompts_.end() ? nullptr : &found->second;
}

void RecordWriter::add(const std::vector<Record>& records) {
  const std::lock_guard lock(mutex_);
  std::string lines;
  for (const Record& record : records) {
    if (!keys_.insert(record.key()).second) continue;
    lines += to_json(record) + "\n";
    records_.push_back(record);
  }
  if (lines.empty()) return;
  write_all(file_, lines, path_);
  sync_file(file_, path_);
}

}  // namespace longhaul
