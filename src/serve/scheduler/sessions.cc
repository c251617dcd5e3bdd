// Named sessions and the snapshots on disk.

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/system_info.h"
#include "base/units.h"
#include "serve/scheduler/scheduler.h"

namespace longhaul::serve {
namespace {

constexpr double kIdleBeforeWriting = 0.5;  // seconds without work
constexpr int64_t kWorthAFile = 256;        // tokens
constexpr size_t kMostNames = 10'000;

/// Whether a sequence can be in host memory while it is saved or loaded.
bool fits_on_host(size_t bytes) { return bytes < available_memory_bytes() / 2; }

/// The name of a session file's session for all keys.
std::string listed_name(const std::string& scope, const std::string& name) {
  return scope + '\n' + name;
}

}  // namespace

void Scheduler::post(std::function<void()> command) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(command));
  }
  changed_.notify_one();
}

void Scheduler::run_posted() {
  std::deque<std::function<void()>> posted;
  {
    const std::lock_guard lock(mutex_);
    posted.swap(posted_);
  }
  for (const auto& command : posted) command();
}

/// Snapshots of the folder are found as if they were in memory, and loaded when they are needed.
void Scheduler::open_disk(DiskOptions options) {
  disk_ = std::make_unique<DiskStore>(engine_, std::move(options));
  cache_.on_drop = [this](const std::string& file) { disk_->remove(file); };
  for (const auto& [name, file] : disk_->files()) {
    if (file.tokens.empty()) continue;  // another model wrote it
    for (const std::string& pin : file.pins) stored_pins_[pin] = file.bytes;
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->legs = file.legs;
    snapshot->key = file.key;
    snapshot->seconds = file.seconds;
    snapshot->marked = file.marked || !file.session.empty() || !file.pins.empty();
    snapshot->cold = file.cold;
    snapshot->file = name;
    snapshot->stored_tokens = file.tokens;
    snapshot->stored_bytes = file.bytes;
    const auto kept = cache_.insert(snapshot);
    if (kept != nullptr && !file.session.empty()) {
      const size_t cut = file.session.rfind('\n');
      if (cut != std::string::npos) {
        sessions_[{file.session.substr(0, cut), file.session.substr(cut + 1)}] = kept;
      }
    }
  }
}

/// Begins to bring the snapshot back from host memory, or to load it on the file thread.
Scheduler::Room Scheduler::start_load(const std::shared_ptr<Snapshot>& snapshot, LoadDone done) {
  if (snapshot->loading) return Room::kReserved;
  const bool on_host = snapshot->on_host != nullptr;
  const size_t bytes = on_host ? snapshot->kv_bytes : snapshot->stored_bytes;
  if (!on_host && engine_.files_through_host() && !fits_on_host(bytes)) return Room::kNever;
  if (const Admission decision = budget().decide(bytes); decision != Admission::kAdmit) {
    return on_host && decision == Admission::kWait ? Room::kLater : Room::kNever;
  }
  if (!make_room(bytes)) {
    return host_ != nullptr && host_->leaving_bytes() > 0 ? Room::kLater : Room::kNever;
  }
  snapshot->loading = true;
  ++snapshot->pins;
  if (on_host) {
    host_->bring_back(snapshot, std::move(done));
    return Room::kReserved;
  }
  loading_bytes_ += bytes;
  const StoredFile* file = disk_->find(snapshot->file);
  const std::vector<std::string> pins = file != nullptr ? file->pins : std::vector<std::string>();
  disk_->load(snapshot->file,
              [this, snapshot, bytes, pins, done = std::move(done)](
                  std::unique_ptr<ServedSequence> sequence, const std::string& error) {
                snapshot->loading = false;
                --snapshot->pins;
                loading_bytes_ -= bytes;
                if (sequence != nullptr) {
                  metrics_.add("longhaul_cache_loaded_bytes_total", "", static_cast<double>(bytes));
                  if (engine_.files_through_host()) {
                    return loaded_to_host(snapshot, std::move(sequence), done);
                  }
                  cache_.fill(*snapshot, std::move(sequence));
                } else {
                  metrics_.add("longhaul_cache_damaged_total", "");
                  lose_pins(pins);
                  disk_->remove(snapshot->file);
                  snapshot->file.clear();
                  if (snapshot->node != nullptr && snapshot->leases == 0) cache_.remove(*snapshot);
                }
                if (done) done(error);
              });
  return Room::kReserved;
}

/// Copies a snapshot that a file has brought to host memory to the device.
void Scheduler::loaded_to_host(const std::shared_ptr<Snapshot>& snapshot,
                               std::unique_ptr<ServedSequence> sequence, const LoadDone& done) {
  snapshot->loading = true;
  ++snapshot->pins;
  snapshot->kv_bytes = sequence->kv_bytes();
  snapshot->on_host = std::move(sequence);
  host_->bring_back(snapshot, [snapshot, done](const std::string& error) {
    snapshot->on_host.reset();  // it does not belong to the tier
    if (done) done(error);
  });
}

/// Writes a snapshot from a clone. `session`: its name in the list, or empty.
void Scheduler::write_snapshot(const std::shared_ptr<Snapshot>& snapshot,
                               const std::string& session, DiskStore::Done done) {
  StoredFile file;
  file.name = disk_->new_name();
  file.key = snapshot->key;
  file.tokens.assign(snapshot->tokens().begin(), snapshot->tokens().end());
  file.legs = snapshot->legs;
  file.seconds = snapshot->seconds;
  file.marked = snapshot->marked;
  file.cold = snapshot->cold;
  file.session = session;
  // Only the engine's thread may use a device: files are written from a copy in host memory.
  if (snapshot->on_host == nullptr && engine_.files_through_host()) {
    if (!fits_on_host(snapshot->kv_bytes)) {
      snapshot->unwritable = true;
      return done("there is too little host memory for a copy");
    }
    snapshot->writing = true;
    return host_->copy_for_file(
        snapshot, [this, snapshot, file = std::move(file), done = std::move(done)](
                      std::unique_ptr<ServedSequence> copy, const std::string& error) {
          snapshot->writing = false;
          if (copy != nullptr && snapshot->node != nullptr) {
            return write_clone(snapshot, file, std::move(copy), done);
          }
          snapshot->unwritable = true;
          done(error.empty() ? "the snapshot has been removed" : error);
        });
  }
  const auto& from = snapshot->on_host != nullptr ? snapshot->on_host : snapshot->sequence;
  auto clone = from->clone();
  if (clone == nullptr) return done("this engine cannot copy a sequence");
  write_clone(snapshot, std::move(file), std::move(clone), std::move(done));
}

void Scheduler::write_clone(const std::shared_ptr<Snapshot>& snapshot, StoredFile file,
                            std::unique_ptr<ServedSequence> clone, DiskStore::Done done) {
  const Snapshot* above = SnapshotTree::above(*snapshot->node);
  while (above != nullptr && above->file.empty()) above = SnapshotTree::above(*above->node);
  if (above != nullptr && clone->can_leave_out()) {
    file.parent = above->file;
    file.parent_tokens = std::ssize(above->tokens());
  }
  snapshot->writing = true;
  const std::string name = file.name;
  disk_->write(std::move(file), std::move(clone),
               [this, snapshot, name, done = std::move(done)](const std::string& error) {
                 snapshot->writing = false;
                 if (error.empty()) {
                   snapshot->file = name;
                   if (const auto* written = disk_->find(name)) {
                     snapshot->stored_bytes = written->bytes;
                     metrics_.add("longhaul_cache_written_bytes_total", "",
                                  static_cast<double>(written->bytes));
                   }
                 } else {
                   snapshot->unwritable = true;
                   metrics_.add("longhaul_cache_write_errors_total", "");
                 }
                 done(error);
               });
}

/// Without other work, writes the snapshot whose prefill took longest, if loading it is faster.
bool Scheduler::write_when_idle() {
  if (disk_ == nullptr || disk_->busy() || engine_.now() - last_work_ < kIdleBeforeWriting) {
    return false;
  }
  if (host_ != nullptr && host_->busy()) return false;  // one copy at a time
  const double sleep = options_.sleep_after;
  const bool all = sleep > 0 && engine_.now() - last_work_ >= sleep;  // memory is freed afterwards
  Snapshot* best = nullptr;
  for (Snapshot* each : cache_.all()) {
    if (each->any_sequence() == nullptr || !each->file.empty() || each->writing || each->copying ||
        each->unwritable || std::ssize(each->tokens()) < kWorthAFile) {
      continue;
    }
    const double load = static_cast<double>(each->kv_bytes) / disk_->bytes_per_second();
    if (each->seconds < load && !all) continue;
    // Parents first, so that children leave out their rows.
    const bool first = best == nullptr || each->node->depth < best->node->depth;
    if (first) best = each;
  }
  if (best == nullptr) return false;
  write_snapshot(best->node->snapshot, "", [](const std::string&) {});
  return true;
}

void Scheduler::name_session(const RunningJob& job, const std::shared_ptr<Snapshot>& snapshot) {
  const std::string& name = job.job->conversation;
  if (snapshot == nullptr) return;
  latest_[job.job->key] = snapshot;
  if (name.empty()) return;
  if (sessions_.size() >= kMostNames) {
    std::erase_if(sessions_, [](const auto& each) { return each.second.expired(); });
  }
  if (sessions_.size() < kMostNames) sessions_[{job.job->key, name}] = snapshot;
}

std::shared_ptr<Snapshot> Scheduler::session_of(const std::string& key, const std::string& name) {
  const auto found = sessions_.find({key, name});
  return found == sessions_.end() ? nullptr : found->second.lock();
}

std::vector<SessionInfo> Scheduler::sessions(const std::string& key) {
  std::vector<SessionInfo> all;
  for (const auto& [name, weak] : sessions_) {
    const auto snapshot = weak.lock();
    if (name.first != key || snapshot == nullptr || snapshot->node == nullptr) continue;
    const bool listed = disk_ != nullptr && disk_->find_session(listed_name(key, name.second));
    all.push_back({name.second, snapshot->key.method, std::ssize(snapshot->tokens()),
                   snapshot->sequence ? snapshot->kv_bytes : 0, listed,
                   snapshot->sequence != nullptr});
  }
  return all;
}

void Scheduler::save_session(const std::string& key, const std::string& from,
                             const std::string& name, SessionDone done) {
  if (disk_ == nullptr) return done({.error = "the server was started without --cache-dir"});
  auto snapshot = from.empty() ? nullptr : session_of(key, from);
  if (from.empty()) {
    const auto latest = latest_.find(key);
    if (latest != latest_.end()) snapshot = latest->second.lock();
  }
  if (snapshot == nullptr || snapshot->node == nullptr) {
    return done({.error = "there is no such session", .missing = true});
  }
  const std::string listed = listed_name(key, name);
  const auto finish = [this, snapshot, listed, key, name, done](const std::string& error) {
    if (!error.empty()) return done({.error = error});
    disk_->take_session_name(listed, snapshot->file);
    snapshot->marked = true;
    sessions_[{key, name}] = snapshot;
    done({.tokens = std::ssize(snapshot->tokens()), .bytes = snapshot->stored_bytes});
  };
  if (!snapshot->file.empty()) return finish("");
  write_snapshot(snapshot, listed, finish);
}

void Scheduler::restore_session(const std::string& key, const std::string& name,
                                const std::string& as, SessionDone done) {
  if (disk_ == nullptr) return done({.error = "the server was started without --cache-dir"});
  const std::string* file = disk_->find_session(listed_name(key, name));
  std::shared_ptr<Snapshot> snapshot;
  for (Snapshot* each : cache_.all()) {
    if (file != nullptr && each->file == *file) snapshot = each->node->snapshot;
  }
  if (snapshot == nullptr) {
    return done({.error = "no session of this name was saved", .missing = true});
  }
  const auto finish = [this, snapshot, key, as, done](const std::string& error) {
    if (!error.empty()) return done({.error = error});
    sessions_[{key, as}] = snapshot;
    latest_[key] = snapshot;
    done({.tokens = std::ssize(snapshot->tokens()), .bytes = snapshot->stored_bytes});
  };
  if (snapshot->sequence != nullptr) return finish("");
  if (snapshot->loading) return done({.error = "the session is being loaded already"});
  if (start_load(snapshot, finish) != Room::kReserved) {
    done({.error = "there is no memory for the session now"});
  }
}

bool Scheduler::fork_session(const std::string& key, const std::string& name,
                             const std::string& to) {
  const auto snapshot = session_of(key, name);
  if (snapshot == nullptr) return false;
  sessions_[{key, to}] = snapshot;
  return true;
}

/// Forgets the name, the file and the snapshot, unless another name has them. Returns the number of
/// its tokens; negative: there is no such session.
int64_t Scheduler::erase_session(const std::string& key, const std::string& name) {
  const auto found = sessions_.find({key, name});
  if (found == sessions_.end()) return -1;
  const auto snapshot = found->second.lock();
  sessions_.erase(found);
  if (disk_ != nullptr) disk_->take_session_name(listed_name(key, name), "");
  if (snapshot == nullptr || snapshot->node == nullptr) return -1;
  const int64_t tokens = std::ssize(snapshot->tokens());
  const bool named = std::ranges::any_of(
      sessions_, [&](const auto& each) { return each.second.lock() == snapshot; });
  if (named || snapshot->leases > 0 || snapshot->pins > 0 || snapshot->writing) return tokens;
  const bool gone = snapshot->file.empty() || disk_->remove(snapshot->file);
  if (gone) cache_.remove(*snapshot);
  return tokens;
}

}  // namespace longhaul::serve
