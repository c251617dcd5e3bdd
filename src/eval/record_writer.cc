#include "eval/record_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "eval/record_file.h"

namespace longhaul {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path) {
  user_error("{}: cannot be written: {}", path.string(), std::strerror(errno));
}

int open_locked(const std::filesystem::path& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) refuse(path);
  if (flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  close(file);
  user_error("{}: another run is writing it", path.string());
}

void write_all(int file, const std::string& text, const std::filesystem::path& path) {
  for (size_t written = 0; written < text.size();) {
    const ssize_t n = write(file, text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) refuse(path);
    written += static_cast<size_t>(n);
  }
}

}  // namespace

RecordWriter::RecordWriter(const std::filesystem::path& folder) : path_(folder / "samples.jsonl") {
  file_ = open_locked(path_);
  try {
    RecordFile held = read_records(path_);
    if (held.torn && ftruncate(file_, static_cast<off_t>(held.whole_bytes)) != 0) refuse(path_);
    records_ = std::move(held.records);
    if (std::erase_if(records_, [](const Record& r) { return !r.error.empty(); }) > 0) rewrite();
  } catch (...) {
    close(file_);
    throw;
  }
  for (const Record& record : records_) keys_.insert(record.key());
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
    std::filesystem::rename(fresh, path_);
  } catch (...) {
    close(file);
    throw;
  }
  close(file_);
  file_ = file;
}

RecordWriter::~RecordWriter() { close(file_); }

bool RecordWriter::has(const Record& record) const {
  const std::lock_guard lock(mutex_);
  return keys_.count(record.key()) > 0;
}

void RecordWriter::add(const std::vector<Record>& records) {
  const std::lock_guard lock(mutex_);
  std::string lines;
  for (const Record& record : records) {
    if (!keys_.insert(record.key()).second) continue;
    lines += to_json(record) + "\n";
    records_.push_back(record);
  }
  write_all(file_, lines, path_);
}

}  // namespace longhaul
