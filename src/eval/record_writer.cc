#include "eval/record_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "base/durable_file.h"
#include "base/error.h"
#include "base/part_file.h"
#include "eval/record_file.h"
#include "text/printable.h"

namespace longhaul {
namespace {

/// Whether the name still refers to that file: another run may have replaced it between opening and
/// locking.
bool is_named(int file, const std::filesystem::path& path) {
  struct stat opened = {};
  struct stat named = {};
  return fstat(file, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

int open_locked(const std::filesystem::path& path) {
  const int file =
      open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (file < 0) refuse_write(path);
  struct stat info = {};
  if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(file);
    user_error("{}: not a regular file", path.string());
  }
  if (flock(file, LOCK_EX | LOCK_NB) == 0 && is_named(file, path)) return file;
  close(file);
  user_error("{}: another run is writing it", path.string());
}

}  // namespace

RecordWriter::RecordWriter(const std::filesystem::path& folder)
    : path_(folder / "samples.jsonl"), file_(open_locked(path_)) {
  try {
    RecordFile held = read_records(path_);
    torn_ = held.torn;
    whole_bytes_ = held.whole_bytes;
    records_ = std::move(held.records);
    failures_ = std::erase_if(records_, [](const Record& r) { return !r.error.empty(); }) > 0;
    for (const Record& record : records_) {
      keys_.insert(record.key());
      note_prompt(record);
    }
  } catch (...) {
    leave();
    throw;
  }
  found_ = records_.size();
}

void RecordWriter::begin() {
  if (failures_) {
    rewrite();
  } else if (torn_ && ftruncate(file_, static_cast<off_t>(whole_bytes_)) != 0) {
    refuse_write(path_);
  }
  torn_ = failures_ = false;
  begun_ = true;
  sync_folder(path_.parent_path());
}

void RecordWriter::rewrite() {
  std::optional<PartFile> part = PartFile::create(path_);  // locked, like the file that it replaces
  if (!part) refuse_write(path_);
  std::string lines;
  for (const Record& record : records_) lines += to_json(record) + "\n";
  write_all(part->get(), lines, path_);
  sync_file(part->get(), path_);
  if (!part->put_in_place(path_)) refuse_write(path_);
  close(file_);
  file_ = part->release();
}

void RecordWriter::note_prompt(const Record& record) {
  const auto note = [&](std::string& known, const std::string& said) {
    if (known.empty()) known = said;
    if (said.empty() || said == known) return;
    user_error("{}: holds answers to two different prompts of task {}, sample {}", path_.string(),
               printable(record.task), printable(record.id));
  };
  FoundPrompt& prompt = prompts_[record.prompt_key()];
  note(prompt.sample_hash, record.sample_hash);
  if (of_control(record.method)) return;
  if (prompt.prompt_hash.empty()) prompt.prompt_tokens = record.prompt_tokens;
  note(prompt.prompt_hash, record.prompt_hash);
}

RecordWriter::~RecordWriter() { leave(); }

void RecordWriter::leave() {
  if (!begun_ && lseek(file_, 0, SEEK_END) == 0) unlink(path_.c_str());
  close(file_);
}

bool RecordWriter::has(const Record& record) const {
  const std::lock_guard lock(mutex_);
  return keys_.count(record.key()) > 0;
}

const FoundPrompt* RecordWriter::found_prompt(const Record& record) const {
  const auto found = prompts_.find(record.prompt_key());
  return found == prompts_.end() ? nullptr : &found->second;
}

void RecordWriter::add(const std::vector<Record>& records) {
  LH_ASSERT(begun_);
  const std::lock_guard lock(mutex_);
  std::string lines;
  for (const Record& record : records) {
    if (!keys_.insert(record.key()).second) continue;
    lines += to_json(record) + "\n";
    records_.push_back(record);
  }
  if (!lines.empty()) append(lines);
}

/// Appends all lines or none: no other thread may write after an incomplete line left by a full
/// disk.
void RecordWriter::append(const std::string& lines) {
  if (torn_) user_error("{}: ends in half a line", path_.string());
  const off_t held = lseek(file_, 0, SEEK_END);
  if (held < 0) refuse_write(path_);
  try {
    write_all(file_, lines, path_);
    sync_file(file_, path_);
  } catch (...) {
    torn_ = ftruncate(file_, held) != 0;
    throw;
  }
}

}  // namespace longhaul
