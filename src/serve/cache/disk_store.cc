#include "serve/cache/disk_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>

#include "base/byte_stream.h"
#include "base/clock.h"
#include "base/durable_file.h"
#include "base/error.h"
#include "base/part_file.h"
#include "serve/cache/load_speed.h"

namespace longhaul::serve {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifest = "manifest";
constexpr const char* kLock = "lock";
constexpr size_t kLongestChain = 256;  // parents of a file
constexpr size_t kRewriteLines = 64;   // superfluous lines that make a new manifest worth it

fs::path session_path(const fs::path& folder, const std::string& name) {
  return folder / (name + ".session");
}
fs::path tokens_path(const fs::path& folder, const std::string& name) {
  return folder / (name + ".tokens");
}

int open_private(const fs::path& path, int flags) {
  const int file = open(path.c_str(), flags | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) refuse_write(path);
  return file;
}

/// Writes what the disk takes.
void write_anyway(const fs::path& path, std::string_view text) {
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, text.data(), text.size());
  close(file);
}

void write_tokens(const fs::path& path, std::span<const int32_t> tokens) {
  ByteWriter out(path);
  out.array(tokens);
  out.finish();
  chmod(path.c_str(), 0600);
}

size_t size_on_disk(const fs::path& path) {
  std::error_code problem;
  const auto bytes = fs::file_size(path, problem);
  return problem ? 0 : static_cast<size_t>(bytes);
}

}  // namespace

DiskStore::DiskStore(EnginePort& engine, DiskOptions options)
    : engine_(engine), options_(std::move(options)) {
  std::error_code problem;
  fs::create_directories(options_.folder, problem);
  chmod(options_.folder.c_str(), 0700);
  lock_folder();
  read_manifest();
  drop_strangers();
  thread_ = std::thread([this] { run(); });
  speed_ = options_.load_speed;
  if (speed_ > 0) return;
  add_task([this] {
    const double speed = load_speed_of(options_.folder);
    add_done([this, speed] { speed_ = speed; });
  });
}

DiskStore::~DiskStore() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
  if (manifest_ >= 0) close(manifest_);
  if (lock_ >= 0) close(lock_);
}

uint64_t DiskStore::fingerprint_of(const TreeKey& key) const {
  if (key.adapter.empty()) return options_.fingerprint;
  const auto adapter = options_.adapters.find(key.adapter);
  return adapter == options_.adapters.end() ? ~options_.fingerprint
                                            : options_.fingerprint ^ adapter->second;
}

void DiskStore::lock_folder() {
  const fs::path path = options_.folder / kLock;
  lock_ = open_private(path, O_RDWR);
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    char holder[32] = {};
    const ssize_t size = pread(lock_, holder, sizeof holder - 1, 0);
    close(std::exchange(lock_, -1));
    user_error("--cache-dir {}: process {} uses this folder; give each server its own",
               options_.folder.string(), size > 0 ? std::atoll(holder) : 0);
  }
  const std::string own = std::to_string(getpid()) + "\n";
  if (ftruncate(lock_, 0) != 0) return;
  [[maybe_unused]] const ssize_t written = ::write(lock_, own.data(), own.size());
}

void DiskStore::read_manifest() {
  const fs::path path = options_.folder / kManifest;
  std::string text;
  {
    std::ifstream in(path, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  int unreadable = 0;
  files_ = read_manifest_lines(text, unreadable);
  if (unreadable > 0 && options_.log) {
    options_.log(fmt::format("{}: {} unreadable lines", path.string(), unreadable));
  }
  std::vector<std::string> bad;
  int foreign = 0;
  for (auto& [name, file] : files_) {
    if (!is_ours(file)) {
      ++foreign;
      continue;
    }
    try {
      ByteReader in(tokens_path(options_.folder, name));
      file.tokens = in.array<int32_t>();
      if (std::ssize(file.tokens) != file.count) user_error("{}: damaged", name);
      if (size_on_disk(session_path(options_.folder, name)) == 0) user_error("{}: no file", name);
    } catch (const UserError&) {
      bad.push_back(name);
    }
  }
  if (foreign > 0 && options_.log) {
    options_.log(fmt::format("{}: {} files of another model or other settings are left alone",
                             options_.folder.string(), foreign));
  }
  // A new manifest has no line of what is gone.
  std::string lines;
  for (const auto& [name, file] : files_) {
    if (std::ranges::find(bad, name) == bad.end()) lines += added_line(file);
  }
  const auto superfluous = std::ranges::count(text, '\n') - std::ranges::count(lines, '\n');
  if (unreadable > 0 || !bad.empty() || superfluous > static_cast<ptrdiff_t>(kRewriteLines)) {
    try {
      replace_file(path, lines);
    } catch (const UserError& error) {  // a full disk: the old manifest stays
      if (options_.log) options_.log(error.what());
      write_anyway(path, "\n");  // ends a line that was cut off
    }
  }
  manifest_ = open_private(path, O_WRONLY | O_APPEND);
  chmod(path.c_str(), 0600);
  for (const std::string& name : bad) mark_damaged(name, "its tokens cannot be read");
  for (const auto& [name, file] : files_) bytes_ += file.bytes;
}

/// Removes files that were being written when a process was killed.
void DiskStore::drop_strangers() {
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(options_.folder, problem)) {
    const fs::path& path = entry.path();
    const bool part = path.filename().string().ends_with(kPartSuffix);
    const bool ours = path.extension() == ".session" || path.extension() == ".tokens";
    if (part || path.filename() == kSpeedFile || (ours && !files_.contains(path.stem().string())))
      fs::remove(path, problem);
  }
}

void DiskStore::append(const std::string& line) {
  const fs::path path = options_.folder / kManifest;
  const off_t before = lseek(manifest_, 0, SEEK_END);
  try {
    write_all(manifest_, line, path);
    sync_file(manifest_, path);
  } catch (const UserError&) {  // no half line before the next one
    if (before >= 0 && ftruncate(manifest_, before) != 0 && options_.log) {
      options_.log(path.string() + ": a line was cut off");
    }
    throw;
  }
}

/// Adds a line on the file thread. If the disk cannot take it, the line is lost: the next start
/// then finds a file that is gone, or forgets a session's name.
void DiskStore::append_later(const std::string& line) {
  add_task([this, line] {
    try {
      append(line);
    } catch (const UserError& error) {
      if (options_.log) options_.log(error.what());
    }
  });
}

std::string DiskStore::new_name() {
  std::random_device random;
  return fmt::format("s-{:08x}{:08x}", random(), random());
}

void DiskStore::make_room(size_t bytes) {
  if (options_.most_bytes == 0) return;
  std::vector<std::string> oldest;  // names are random: the value decides
  for (const auto& [name, file] : files_) {
    const bool ours = is_ours(file);
    if (ours && file.session.empty() && file.pins.empty() && !file.marked) oldest.push_back(name);
  }
  std::ranges::sort(oldest, {}, [&](const std::string& name) {
    const StoredFile& file = files_.at(name);
    return file.seconds / static_cast<double>(std::max<size_t>(1, file.bytes));
  });
  for (const std::string& name : oldest) {
    if (bytes_ + bytes <= options_.most_bytes) return;
    remove(name);
  }
  if (bytes_ + bytes > options_.most_bytes) {
    user_error("--cache-disk: {} bytes more would exceed {}", bytes, options_.most_bytes);
  }
}

void DiskStore::write(StoredFile file, std::unique_ptr<ServedSequence> clone, Done done) {
  file.fingerprint = fingerprint_of(file.key);
  file.count = std::ssize(file.tokens);
  try {
    make_room(clone->kv_bytes() / static_cast<size_t>(file.count) *
              static_cast<size_t>(file.count - file.parent_tokens));
  } catch (const UserError& error) {
    return add_done([done = std::move(done), what = std::string(error.what())] { done(what); });
  }
  std::shared_ptr<ServedSequence> from = std::move(clone);
  add_task([this, file = std::move(file), from, done = std::move(done)]() mutable {
    const fs::path path = session_path(options_.folder, file.name);
    const fs::path tokens = tokens_path(options_.folder, file.name);
    std::string error;
    try {
      write_tokens(tokens, file.tokens);
      from->save(path, file.parent_tokens, file.parent);
      chmod(path.c_str(), 0600);
      file.bytes = size_on_disk(path) + size_on_disk(tokens);
      append(added_line(file));
      add_done([this, file] {
        bytes_ += file.bytes;
        files_[file.name] = file;
      });
    } catch (const std::exception& problem) {
      error = problem.what();
      std::error_code ignored;
      fs::remove(path, ignored);
      fs::remove(tokens, ignored);
    }
    from.reset();
    add_done([done = std::move(done), error] { done(error); });
  });
}

void DiskStore::load(const std::string& name, Loaded done) {
  std::vector<StoredFile> chain;  // the oldest parent last
  for (std::string next = name; !next.empty() && chain.size() < kLongestChain;) {
    const auto file = files_.find(next);
    if (file == files_.end()) {
      return add_done([done = std::move(done), next] { done(nullptr, next + " is gone"); });
    }
    chain.push_back(file->second);
    next = file->second.parent;
  }
  add_task([this, chain = std::move(chain), done = std::move(done)] {
    std::string damaged_name, error;
    std::shared_ptr<std::unique_ptr<ServedSequence>> loaded =
        std::make_shared<std::unique_ptr<ServedSequence>>();
    try {
      *loaded = load_chain(chain, damaged_name);
    } catch (const std::exception& problem) {
      error = problem.what();
    }
    add_done([this, loaded, damaged_name, error, done] {
      if (*loaded == nullptr && !damaged_name.empty()) mark_damaged(damaged_name, error);
      done(std::move(*loaded), error);
    });
  });
}

std::unique_ptr<ServedSequence> DiskStore::load_chain(const std::vector<StoredFile>& chain,
                                                      std::string& damaged_name) {
  const Stopwatch watch;
  std::unique_ptr<ServedSequence> loaded;
  size_t bytes = 0;
  for (auto file = chain.rbegin(); file != chain.rend(); ++file) {
    damaged_name = file->name;
    const MethodSpec method = MethodSpec::parse(file->key.method);
    auto next = engine_.load(session_path(options_.folder, file->name), method, file->key.adapter,
                             loaded.get());
    if (!std::ranges::equal(next->tokens(), file->tokens)) {
      user_error("{}: has other tokens than its list says", file->name);
    }
    loaded = std::move(next);
    bytes += file->bytes;
  }
  damaged_name.clear();
  const double seconds = watch.seconds();
  add_done([this, bytes, seconds] {
    if (seconds > 0 && bytes >= kMeasuredBytes) speed_ = static_cast<double>(bytes) / seconds;
  });
  return loaded;
}

void DiskStore::mark_damaged(const std::string& name, const std::string& why) {
  const auto file = files_.find(name);
  if (file == files_.end()) return;
  ++damaged_;
  if (options_.log) options_.log(fmt::format("{}: damaged ({}); renamed to .bad", name, why));
  std::error_code problem;
  const fs::path path = session_path(options_.folder, name);
  fs::rename(path, fs::path(path).replace_extension(".bad"), problem);
  fs::remove(tokens_path(options_.folder, name), problem);
  bytes_ -= std::min(bytes_, file->second.bytes);
  files_.erase(file);
  append_later(removed_line(name));
}

bool DiskStore::remove(const std::string& name) {
  const auto file = files_.find(name);
  if (file == files_.end()) return true;
  if (!file->second.pins.empty()) return false;
  for (const auto& [other, each] : files_) {
    if (each.parent == name) return false;
  }
  append_later(removed_line(name));
  bytes_ -= std::min(bytes_, file->second.bytes);
  files_.erase(file);
  add_task([this, name] {
    std::error_code problem;
    fs::remove(session_path(options_.folder, name), problem);
    fs::remove(tokens_path(options_.folder, name), problem);
  });
  return true;
}

void DiskStore::take_session_name(const std::string& session, const std::string& file) {
  for (auto& [name, each] : files_) {
    const bool takes = name == file && each.session != session;
    const bool loses = name != file && each.session == session;
    if (!takes && !loses) continue;
    each.session = takes ? session : "";
    append_later(added_line(each));
  }
}

void DiskStore::add_pin(const std::string& name, const std::string& pin) {
  const auto file = files_.find(name);
  if (file == files_.end() || std::ranges::count(file->second.pins, pin) > 0) return;
  remove_pin(pin);
  file->second.pins.push_back(pin);
  append_later(added_line(file->second));
}

std::string DiskStore::remove_pin(const std::string& pin) {
  std::string last;
  for (auto& [name, each] : files_) {
    if (std::erase(each.pins, pin) == 0) continue;
    append_later(added_line(each));
    last = name;
  }
  return last;
}

const std::string* DiskStore::find_session(const std::string& session) const {
  for (const auto& [name, each] : files_) {
    const bool ours = is_ours(each);
    if (ours && each.session == session) return &name;
  }
  return nullptr;
}

const StoredFile* DiskStore::find(const std::string& name) const {
  const auto file = files_.find(name);
  return file == files_.end() ? nullptr : &file->second;
}

void DiskStore::add_task(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void DiskStore::add_done(std::function<void()> done) {
  const std::lock_guard lock(mutex_);
  done_.push_back(std::move(done));
}

bool DiskStore::poll() {
  std::deque<std::function<void()>> done;
  {
    const std::lock_guard lock(mutex_);
    done.swap(done_);
  }
  for (const auto& each : done) each();
  return !done.empty();
}

bool DiskStore::busy() const {
  const std::lock_guard lock(mutex_);
  return working_ || !tasks_.empty() || !done_.empty();
}

void DiskStore::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    working_ = true;
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
    working_ = false;
  }
}

}  // namespace longhaul::serve
