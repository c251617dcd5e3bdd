#include "hub/download.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <span>
#include <thread>
#include <vector>

#include "base/durable_file.h"
#include "base/error.h"
#include "hub/http.h"
#include "hub/repository.h"
#include "hub/sha256.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;

constexpr int kMostTries = 4;  // without any byte in between
constexpr auto kFirstPause = std::chrono::milliseconds(200);

fs::path part_of(const fs::path& target) {
  return target.parent_path() / fmt::format(".{}.part", target.filename().string());
}

/// File with the entity tag of the file to which a part belongs.
fs::path tag_of(const fs::path& target) {
  return target.parent_path() / fmt::format(".{}.tag", target.filename().string());
}

class Part {
 public:
  explicit Part(const Download& what) : what_(what), path_(part_of(what.target)) {
    file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file_ < 0) refuse_write(path_);
    struct stat facts {};
    if (fstat(file_, &facts) == 0) have_ = facts.st_size;
    std::getline(std::ifstream(tag_of(what.target)), tag_);
    const bool certain = !what.sha256.empty() || !tag_.empty();
    if (!certain || (what.bytes >= 0 && have_ > what.bytes)) begin_anew();
    read_own();
  }
  ~Part() {
    close(file_);
    if (have_ == 0) remove();
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  int64_t have() const { return have_; }
  const std::string& tag() const { return tag_; }

  void begin_anew() {
    if (ftruncate(file_, 0) != 0 || lseek(file_, 0, SEEK_SET) < 0) refuse_write(path_);
    have_ = 0;
    hash_ = Sha256();
  }
  void append(std::span<const std::byte> bytes) {
    write_all(file_, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path_);
    hash_.add(bytes);
    have_ += static_cast<int64_t>(bytes.size());
  }
  /// Stores the tag that a later continuation of this part must match.
  void set_tag(const std::string& tag) {
    if (!what_.sha256.empty() || tag.empty() || tag.starts_with("W/") || tag == tag_) return;
    tag_ = tag;
    replace_file(tag_of(what_.target), tag);
  }
  void remove() {
    std::error_code ignored;
    fs::remove(path_, ignored);
    fs::remove(tag_of(what_.target), ignored);
  }
  void put_in_place() {
    if (!what_.sha256.empty()) {
      if (const std::string found = hash_.hex(); found != what_.sha256) {
        remove();
        user_error("{}: what arrived has SHA-256 {}, expected {}: nothing is kept of it", what_.url,
                   found, what_.sha256);
      }
    }
    sync_file(file_, path_);
    fs::rename(path_, what_.target);
    std::error_code ignored;
    fs::remove(tag_of(what_.target), ignored);
    sync_folder(what_.target.parent_path());
  }

 private:
  /// Adds the bytes already downloaded to the hash.
  void read_own() {
    std::vector<std::byte> buffer(1 << 20);
    int64_t at = 0;
    while (at < have_) {
      const ssize_t got = pread(file_, buffer.data(), buffer.size(), at);
      if (got <= 0) user_error("{}: cannot be read", path_.string());
      hash_.add({buffer.data(), static_cast<size_t>(got)});
      at += got;
    }
    if (lseek(file_, have_, SEEK_SET) < 0) refuse_write(path_);
  }

  const Download& what_;
  fs::path path_;
  int file_ = -1;
  int64_t have_ = 0;
  std::string tag_;
  Sha256 hash_;
};

/// Whether another try may succeed.
bool passing(const HttpResponse& r) {
  return !r.problem.empty() || r.status == 408 || r.status == 429 || r.status >= 500;
}

/// A pause that Ctrl-C interrupts.
void pause(std::chrono::milliseconds time, const CancelFlag* cancel) {
  constexpr auto kStep = std::chrono::milliseconds(50);
  for (; time.count() > 0 && !requested(cancel); time -= kStep) std::this_thread::sleep_for(kStep);
}

class Fetch {
 public:
  explicit Fetch(const Download& what) : what_(what), part_(what), total_(what.bytes) {}

  DownloadEnd run() {
    for (int tries = 0; !complete();) {
      const int64_t before = part_.have();
      const HttpResponse r = once();
      if (r.cancelled || requested(what_.cancel)) return DownloadEnd::kCancelled;
      if (r.problem.empty() && (r.status == 200 || r.status == 206)) {
        if (total_ < 0) total_ = part_.have();
        if (complete()) break;
      } else if (r.status == 416 && part_.have() > 0) {
        part_.begin_anew();  // the file has become shorter
      } else if (!passing(r)) {
        user_error("{}: {}", what_.url, status_text(r.status));
      }
      tries = part_.have() > before ? 0 : tries + 1;
      const std::string problem = !r.problem.empty() ? r.problem
                                  : r.status >= 300  ? status_text(r.status)
                                                     : "the connection ended too early";
      if (tries == kMostTries) user_error("{}: {}", what_.url, problem);
      if (what_.retrying) what_.retrying(problem);
      pause(kFirstPause * (1 << tries), what_.cancel);
    }
    part_.put_in_place();
    return DownloadEnd::kDone;
  }

 private:
  bool complete() const { return total_ >= 0 && part_.have() == total_; }

  HttpResponse once() {
    const int64_t begin = part_.have();
    bool first = true;
    const HttpRequest request{.url = what_.url,
                              .token = what_.token,
                              .begin = begin,
                              .if_match = part_.tag(),
                              .cancel = what_.cancel};
    HttpResponse r = http_get(request, [&](long status, std::span<const std::byte> bytes) {
      if (status != 200 && status != 206) return true;              // body of an error response
      if (first && status == 200 && begin > 0) part_.begin_anew();  // the server ignored the range
      first = false;
      const auto count = static_cast<int64_t>(bytes.size());
      if (total_ >= 0 && part_.have() + count > total_) {
        const int64_t expected = total_;
        part_.remove();
        user_error_from_sink_ = fmt::format("more than the {} bytes that it should have", expected);
        return false;
      }
      try {
        part_.append(bytes);
      } catch (const UserError& error) {  // must not propagate through libcurl
        user_error_from_sink_ = error.what();
        return false;
      }
      if (what_.progress) what_.progress(part_.have(), total_);
      return true;
    });
    if (!user_error_from_sink_.empty()) user_error("{}: {}", what_.url, user_error_from_sink_);
    if (const auto tag = r.headers.find("etag"); tag != r.headers.end() && r.status == 200)
      part_.set_tag(tag->second);
    return r;
  }

  const Download& what_;
  Part part_;
  int64_t total_;
  std::string user_error_from_sink_;
};

}  // namespace

int64_t bytes_arrived(const fs::path& target) {
  std::error_code error;
  const auto bytes = fs::file_size(part_of(target), error);
  return error ? 0 : static_cast<int64_t>(bytes);
}

DownloadEnd download(const Download& what) { return Fetch(what).run(); }

}  // namespace longhaul
