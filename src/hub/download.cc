#include "hub/download.h"

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/durable_file.h"
#include "base/error.h"
#include "base/parse_number.h"
#include "base/regular_file.h"
#include "hub/http.h"
#include "hub/repository.h"
#include "hub/sha256.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;

constexpr int kMostTries = 4;  // attempts in a row that are slower than the limit
constexpr size_t kMostTagBytes = 4096;
constexpr auto kFirstPause = std::chrono::milliseconds(200);

fs::path part_of(const fs::path& target) {
  return target.parent_path() / fmt::format(".{}.part", target.filename().string());
}

/// File with the entity tag of the file to which a part belongs.
fs::path tag_of(const fs::path& target) {
  return target.parent_path() / fmt::format(".{}.tag", target.filename().string());
}

bool is_named(int file, const fs::path& path) {
  struct stat opened {
  }, named{};
  return fstat(file, &opened) == 0 && lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/// Opens the part so that no other process writes it while it is open.
int open_locked_part(const fs::path& path, const fs::path& target) {
  for (;;) {
    const int file = open_own_file(path);
    if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      close(file);
      user_error("{}: another process is fetching it", target.string());
    }
    if (is_named(file, path)) return file;
    close(file);  // another process has renamed or removed it meanwhile
  }
}

/// Names the version of the file in a response: its entity tag, unless that is a weak one, or the
/// time of its last change. Both may be sent as If-Range. Empty if there is neither.
std::string version_of(const HttpResponse& head) {
  const auto found = [&](const char* name) {
    const auto header = head.headers.find(name);
    return header == head.headers.end() ? "" : header->second;
  };
  const std::string tag = found("etag");
  return tag.starts_with('"') ? tag : found("last-modified");
}

/// First byte, last byte and size of the file in "bytes 50-99/100"; -1: not given.
struct ContentRange {
  int64_t begin = -1, end = -1, all = -1;
};

ContentRange content_range(const HttpResponse& head) {
  const auto found = head.headers.find("content-range");
  ContentRange range;
  if (found == head.headers.end()) return range;
  const std::string& text = found->second;
  const size_t dash = text.find('-'), slash = text.find('/');
  const bool whole = text.starts_with("bytes ") && dash < slash && slash != std::string::npos;
  if (!whole) return range;
  const bool known = parse_number(text.substr(6, dash - 6), range.begin) &&
                     parse_number(text.substr(dash + 1, slash - dash - 1), range.end) &&
                     parse_number(text.substr(slash + 1), range.all);
  return known ? range : ContentRange{};
}

class Part {
 public:
  explicit Part(const Download& what) : what_(what), path_(part_of(what.target)) {
    file_ = open_locked_part(path_, what.target);
    try {
      resume();
    } catch (...) {
      close(file_);
      throw;
    }
  }
  ~Part() {
    if (have_ == 0) remove();  // while it is locked
    close(file_);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  int64_t have() const { return have_; }
  const std::string& tag() const { return tag_; }

  /// Drops the bytes already downloaded.
  void begin_anew() {
    if (ftruncate(file_, 0) != 0 || lseek(file_, 0, SEEK_SET) < 0) refuse_write(path_);
    have_ = 0;
    hash_ = Sha256();
  }
  void append(std::span<const std::byte> bytes) {
    write_all(file_, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path_);
    if (!what_.sha256.empty()) hash_.add(bytes);
    have_ += static_cast<int64_t>(bytes.size());
  }
  /// Stores the version that a later continuation of this part must match; "" if it has none.
  void set_tag(const std::string& tag) {
    if (!what_.sha256.empty() || tag == tag_) return;
    tag_ = tag;
    if (!tag.empty()) return replace_file(tag_of(what_.target), tag);
    std::error_code ignored;
    fs::remove(tag_of(what_.target), ignored);
  }
  /// Whether the rest of the file can be recognised as such.
  bool can_continue() const { return !what_.sha256.empty() || !tag_.empty(); }
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
    std::error_code failed, ignored;
    fs::rename(path_, what_.target, failed);
    if (failed) {
      user_error("{}: cannot be put in place: {}", what_.target.string(), failed.message());
    }
    fs::remove(tag_of(what_.target), ignored);
    sync_folder(what_.target.parent_path());
  }

 private:
  void resume() {
    struct stat facts {};
    if (fstat(file_, &facts) == 0) have_ = facts.st_size;
    const std::optional<std::string> tag = read_if_regular(tag_of(what_.target), kMostTagBytes);
    if (tag) tag_ = tag->substr(0, tag->find('\n'));
    if (!can_continue() || (what_.bytes >= 0 && have_ > what_.bytes)) begin_anew();
    if (!what_.sha256.empty()) read_own();
    if (lseek(file_, have_, SEEK_SET) < 0) refuse_write(path_);
  }
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
      const Stopwatch watch;
      const HttpResponse r = once();
      if (r.cancelled || requested(what_.cancel)) return DownloadEnd::kCancelled;
      const bool answered = r.problem.empty() && (r.status == 200 || r.status == 206);
      if (answered && total_ < 0) total_ = part_.have();
      if (complete()) break;
      if (!answered && !other_range_) expect_that_trying_again_may_help(r);
      const std::string problem = other_range_         ? "the server sends another part"
                                  : !r.problem.empty() ? r.problem
                                  : r.status >= 300    ? status_text(r.status)
                                                       : "the connection ended too early";
      const double least =
          static_cast<double>(what_.limits.bytes_per_second) * std::max(1.0, watch.seconds());
      const bool fast = static_cast<double>(part_.have() - before) >= least;
      // A server that sends other parts than requested is not asked for parts again.
      whole_only_ = whole_only_ || std::exchange(other_range_, false);
      if (whole_only_) part_.begin_anew();
      tries = fast && !whole_only_ ? 0 : tries + 1;
      if (tries == kMostTries) user_error("{}: {}", what_.url, problem);
      if (what_.retrying) what_.retrying(problem);
      pause(kFirstPause * (1 << tries), what_.cancel);
    }
    part_.put_in_place();
    return DownloadEnd::kDone;
  }

 private:
  bool complete() const { return total_ >= 0 && part_.have() == total_; }

  void expect_that_trying_again_may_help(const HttpResponse& r) {
    if (r.status == 416 && part_.have() > 0) {
      part_.begin_anew();  // the file has become shorter
    } else if (!passing(r)) {
      user_error("{}: {}", what_.url, status_text(r.status));
    }
  }

  /// Whether a response with part of the file continues our part of the same file.
  bool continues(const HttpResponse& head, int64_t begin) {
    const ContentRange range = content_range(head);
    const std::string version = version_of(head);
    const bool same = !what_.sha256.empty() || version.empty() || version == part_.tag();
    const bool right = same && range.begin == begin && range.end >= begin &&
                       range.end < range.all && (total_ < 0 || range.all == total_);
    if (right) total_ = range.all;
    return right;
  }

  /// Adds the bytes of a response to the part; `first` ones may begin it anew. False ends the
  /// transfer.
  bool take(const HttpResponse& head, std::span<const std::byte> bytes, int64_t begin, bool first) {
    if (first && head.status == 206 && !continues(head, begin)) {
      other_range_ = true;
      return false;
    }
    if (first && head.status == 200) {
      if (begin > 0) part_.begin_anew();  // range ignored
      part_.set_tag(version_of(head));
    }
    if (total_ >= 0 && std::ssize(bytes) > total_ - part_.have()) {
      part_.remove();
      user_error("more than the {} bytes that it should have", total_);
    }
    part_.append(bytes);
    if (what_.progress) what_.progress(part_.have(), total_);
    return true;
  }

  HttpResponse once() {
    if (!part_.can_continue()) part_.begin_anew();
    const int64_t begin = part_.have();
    bool first = true;
    std::string problem;
    const HttpRequest request{.url = what_.url,
                              .token = what_.token,
                              .begin = begin,
                              .if_match = part_.tag(),
                              .limits = what_.limits,
                              .cancel = what_.cancel};
    HttpResponse r =
        http_get(request, [&](const HttpResponse& head, std::span<const std::byte> bytes) {
          if (head.status != 200 && head.status != 206) return true;  // body of an error response
          try {
            return take(head, bytes, begin, std::exchange(first, false));
          } catch (const UserError& error) {  // must not propagate through libcurl
            problem = error.what();
            return false;
          }
        });
    if (!problem.empty()) user_error("{}: {}", what_.url, problem);
    return r;
  }

  const Download& what_;
  Part part_;
  int64_t total_;
  bool other_range_ = false;  ///< the server sent another part than was asked for
  bool whole_only_ = false;   ///< it has done so before
};

}  // namespace

int64_t bytes_arrived(const fs::path& target) {
  std::error_code error;
  const auto bytes = fs::file_size(part_of(target), error);
  return error ? 0 : static_cast<int64_t>(bytes);
}

DownloadEnd download(const Download& what) { return Fetch(what).run(); }

}  // namespace longhaul
