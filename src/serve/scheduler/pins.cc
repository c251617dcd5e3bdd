// Snapshots that documents need: on disk as well, until the document is deleted. Sleep of an idle
// server.

#include <algorithm>

#include "serve/scheduler/scheduler.h"

namespace longhaul::serve {
namespace {

bool begins_with(std::span<const int32_t> tokens, std::span<const int32_t> first) {
  return tokens.size() >= first.size() && std::equal(first.begin(), first.end(), tokens.begin());
}

}  // namespace

/// Begins to write the pinned snapshots that are to be saved.
void Scheduler::save_pins() {
  std::vector<std::string> names;
  for (const auto& [name, pin] : unsaved_) {
    if (!pin.snapshot->writing) names.push_back(name);
  }
  for (const std::string& name : names) save_pin(name);
}

void Scheduler::save_pin(const std::string& name) {
  const UnsavedPin pin = unsaved_.at(name);
  if (disk_ == nullptr) {
    unsaved_.erase(name);
    return pin.saved("the server was started without --cache-dir");
  }
  const auto finish = [this, name](const std::string& error) {
    const auto waiting = unsaved_.find(name);
    if (waiting == unsaved_.end()) return;  // unpinned meanwhile: an ordinary file of the cache
    const UnsavedPin done = std::move(waiting->second);
    unsaved_.erase(waiting);
    if (error.empty()) disk_->add_pin(done.snapshot->file, name);
    done.saved(error);
  };
  if (!pin.snapshot->file.empty()) return finish("");
  write_snapshot(pin.snapshot, "", finish);
}

void Scheduler::forget_pin(const std::string& name) {
  pin(name, nullptr);
  unsaved_.erase(name);
  if (disk_ == nullptr) return;
  const std::string file = disk_->remove_pin(name);
  if (file.empty() || !disk_->find(file)->pins.empty()) return;
  forget_everything_after(file);
}

/// Removes the snapshots and files whose tokens begin with those of a file, unless documents,
/// sessions or jobs need them.
void Scheduler::forget_everything_after(const std::string& file) {
  const StoredFile first = *disk_->find(file);
  std::vector<std::string> kept;
  std::vector<Snapshot*> gone;
  for (Snapshot* each : cache_.all()) {
    if (each->key.scope != first.key.scope || !begins_with(each->tokens(), first.tokens)) continue;
    const StoredFile* stored = disk_->find(each->file);
    const bool named = stored != nullptr && (!stored->pins.empty() || !stored->session.empty());
    const bool used = each->pins > 0 || each->leases > 0 || each->writing;
    if (named || used) {
      kept.push_back(each->file);
    } else {
      gone.push_back(each);
    }
  }
  for (Snapshot* each : gone) cache_.remove(*each);
  std::vector<std::pair<int64_t, std::string>> files;
  for (const auto& [name, each] : disk_->files()) {
    const bool after = each.key.scope == first.key.scope && begins_with(each.tokens, first.tokens);
    const bool needed = !each.session.empty() || std::ranges::count(kept, name) > 0;
    if (after && !needed) files.emplace_back(each.count, name);
  }
  std::ranges::sort(files, std::greater());  // children before their parents
  for (const auto& [count, name] : files) disk_->remove(name);
}

void Scheduler::lose_pins(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    disk_->remove_pin(name);
    if (on_pin_lost) on_pin_lost(name);
  }
}

/// After `--sleep-after` seconds without work, frees the memory of everything that is on disk.
bool Scheduler::sleep_when_idle() {
  if (options_.sleep_after <= 0 || disk_ == nullptr || disk_->busy() || jobs_here_ > 0)
    return false;
  if (engine_.now() - last_work_ < options_.sleep_after) return false;
  const int slept = cache_.unload_stored();
  if (slept == 0) return false;
  metrics_.add("longhaul_cache_slept_total", "", slept);
  publish();
  return true;
}

}  // namespace longhaul::serve
