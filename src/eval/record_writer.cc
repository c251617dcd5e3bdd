#include "eval/record_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "eval/record_file.h"

namespace longhaul {

std::string RecordWriter::key_of(const Record& r) {
  constexpr char kPart = '\x1f';
  return r.task + kPart + (r.opening ? '1' : '0') + kPart + std::to_string(r.length) + kPart +
         r.id + kPart + r.method;
}

RecordWriter::RecordWriter(const std::filesystem::path& folder) : path_(folder / "samples.jsonl") {
  file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) user_error("{}: cannot be written: {}", path_.string(), std::strerror(errno));
  try {
    if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
      user_error("{}: another run is writing it", path_.string());
    }
    RecordFile held = read_records(path_);
    if (held.torn && ftruncate(file_, static_cast<off_t>(held.whole_bytes)) != 0) {
      user_error("{}: cannot be written: {}", path_.string(), std::strerror(errno));
    }
    records_ = std::move(held.records);
  } catch (...) {
    close(file_);
    throw;
  }
  for (const Record& record : records_) keys_.insert(key_of(record));
  found_ = records_.size();
}

RecordWriter::~RecordWriter() { close(file_); }

bool RecordWriter::has(const Record& record) const {
  const std::lock_guard lock(mutex_);
  return keys_.count(key_of(record)) > 0;
}

void RecordWriter::add(const std::vector<Record>& records) {
  const std::lock_guard lock(mutex_);
  std::string lines;
  for (const Record& record : records) {
    if (!keys_.insert(key_of(record)).second) continue;
    lines += to_json(record) + "\n";
    records_.push_back(record);
  }
  for (size_t written = 0; written < lines.size();) {
    const ssize_t n = write(file_, lines.data() + written, lines.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) user_error("{}: cannot be written: {}", path_.string(), std::strerror(errno));
    written += static_cast<size_t>(n);
  }
}

}  // namespace longhaul
