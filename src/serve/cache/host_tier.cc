#include "serve/cache/host_tier.h"

#include <algorithm>
#include <utility>

namespace longhaul::serve {
namespace {

constexpr size_t kTwinsBelow = 16;    // snapshots below a node that are considered as twins
constexpr int64_t kWorthMoving = 64;  // tokens
/// A snapshot shares most pages with one above it that has at least this part of its tokens.
constexpr double kLargestShare = 0.5;

/// The nearest relative of a snapshot that is on the device and on the host.
const Snapshot* twin_of(const Snapshot& snapshot) {
  for (const TreeNode* node = snapshot.node; node->parent != nullptr; node = node->parent) {
    for (const Snapshot* each : SnapshotTree::below(*node, kTwinsBelow)) {
      if (each != &snapshot && each->sequence && each->on_host && !each->loading) return each;
    }
  }
  return nullptr;
}

/// The nearest snapshot above that satisfies `wanted`, if it may share most pages with this one.
template <class Wanted>
Snapshot* above_that(const Snapshot& snapshot, Wanted&& wanted) {
  for (Snapshot* above = SnapshotTree::above(*snapshot.node); above != nullptr;
       above = SnapshotTree::above(*above->node)) {
    const auto most = static_cast<double>(snapshot.tokens().size());
    if (static_cast<double>(above->tokens().size()) < kLargestShare * most) return nullptr;
    if (wanted(*above)) return above;
  }
  return nullptr;
}

/// Whether snapshots that continue this one are in the device's memory and about to leave it.
bool shares_with_others_below(const Snapshot& snapshot) {
  constexpr size_t kMost = 256;
  return std::ranges::any_of(SnapshotTree::below(*snapshot.node, kMost), [&](const Snapshot* s) {
    return s != &snapshot && s->sequence != nullptr && s->leaving;
  });
}

}  // namespace

HostTier::~HostTier() { moves_.clear(); }

HostTier::Move* HostTier::move_of(const Snapshot& snapshot) {
  for (Move& move : moves_) {
    if (move.snapshot.get() == &snapshot) return &move;
  }
  return nullptr;
}

bool HostTier::make_host_room(size_t bytes) {
  // Copies are made one after the other: the memory of the first one is in use already.
  size_t coming = 0;
  bool first = true;
  for (const Move& move : moves_) {
    if (move.out && !move.for_file && !std::exchange(first, false)) coming += move.bytes;
  }
  for (;;) {
    const HostUse use = engine_.host_use();
    if (bytes > use.limit) return false;
    if (use.in_use + coming + bytes <= use.limit) return true;
    if (!cache_.evict_from_host(engine_.now())) return false;
  }
}

bool HostTier::move_out(Snapshot& snapshot) {
  const HostUse use = engine_.host_use();
  const bool worth = std::ssize(snapshot.tokens()) >= kWorthMoving;
  if (use.limit == 0 || snapshot.unmovable || snapshot.loading || !worth) return false;
  if (Move* const begun = move_of(snapshot)) {
    if (begun->for_file) return false;
    begun->leaves = snapshot.leaving = true;
    begun->device_bytes = snapshot.own_bytes;
    return true;
  }
  return add_out(snapshot, true);
}

/// Begins to copy a snapshot to the host. A snapshot above it with which it shares most pages is
/// copied first and stays on the device, so that snapshots beside this one can share its copy.
bool HostTier::add_out(Snapshot& snapshot, bool leaves) {
  Move move{.snapshot = snapshot.node->snapshot, .leaves = leaves};
  move.device_bytes = leaves ? snapshot.own_bytes : 0;
  move.bytes = snapshot.kv_bytes;
  if (const Snapshot* const twin = twin_of(snapshot)) {
    move.bytes = std::max(snapshot.own_bytes,
                          snapshot.kv_bytes - std::min(snapshot.kv_bytes, twin->kv_bytes));
  } else if (Snapshot* const above = above_that(
                 snapshot, [](const Snapshot& s) { return s.sequence && !s.unmovable; })) {
    if (above->copying ||
        (!above->loading && above->sequence->rewinds() && add_out(*above, false))) {
      move.after = above->node->snapshot;
      move.bytes = snapshot.kv_bytes - std::min(snapshot.kv_bytes, above->kv_bytes);
    }
  }
  if (!make_host_room(move.bytes)) return false;
  snapshot.copying = true;
  snapshot.leaving = leaves;
  moves_.push_back(std::move(move));
  if (moves_.back().after == nullptr) begin(moves_.back());
  return true;
}

void HostTier::copy_for_file(const std::shared_ptr<Snapshot>& snapshot, Copied done) {
  if (Move* const begun = move_of(*snapshot); begun != nullptr && begun->out) {
    begun->copied.push_back(std::move(done));
    return;
  }
  Move& move = moves_.emplace_back();
  move.snapshot = snapshot;
  move.for_file = true;
  move.copied.push_back(std::move(done));
  snapshot->copying = true;
  begin(move);
}

void HostTier::bring_back(const std::shared_ptr<Snapshot>& snapshot, Returned done) {
  Move move{.snapshot = snapshot, .out = false};
  move.returned = std::move(done);
  move.device_bytes = snapshot->kv_bytes;
  if (twin_of(*snapshot) == nullptr) {
    Snapshot* const above = above_that(
        *snapshot, [](const Snapshot& s) { return s.on_host != nullptr && s.sequence == nullptr; });
    if (above != nullptr && above->loading) {
      if (Move* const coming = move_of(*above); coming != nullptr) move.after = coming->snapshot;
    } else if (above != nullptr && above->on_host->rewinds()) {
      above->loading = true;
      ++above->pins;
      bring_back(above->node->snapshot, {});
      move.after = above->node->snapshot;
      move.device_bytes -= std::min(move.device_bytes, above->kv_bytes);
    }
  }
  moves_.push_back(std::move(move));
  if (moves_.back().after == nullptr) begin(moves_.back());
}

void HostTier::begin(Move& move) {
  move.after.reset();
  move.began = engine_.now();
  Snapshot& snapshot = *move.snapshot;
  ServedTwins twins;
  if (snapshot.node != nullptr && !move.for_file) {
    if (const Snapshot* const twin = twin_of(snapshot)) {
      twins = {twin->sequence.get(), twin->on_host.get()};
      if (!move.out) std::swap(twins.here, twins.there);
    }
  }
  try {
    if (move.out) {
      move.copy = engine_.copy_to_host(*snapshot.sequence, twins, move.for_file);
    } else {
      move.copy = engine_.copy_to_device(*snapshot.on_host, twins);
    }
    if (move.copy == nullptr) move.error = "cannot be copied";
  } catch (const std::exception& error) {
    move.error = error.what();
  }
}

/// Begins the moves that share pages with this snapshot, before it may be evicted.
void HostTier::begin_after(const std::shared_ptr<Snapshot>& snapshot) {
  for (Move& move : moves_) {
    if (move.after == snapshot) begin(move);
  }
}

bool HostTier::poll(double seconds) {
  bool worked = depart(), advanced = false;
  for (auto move = moves_.begin(); move != moves_.end();) {
    if (move->after != nullptr) {
      if (move_of(*move->after) == nullptr) begin(*move);
      ++move;
      continue;
    }
    if (move->copy != nullptr) {
      if (!move->out && std::exchange(advanced, true)) {  // one after the other
        ++move;
        continue;
      }
      const size_t before = move->copy->bytes_left();
      try {
        move->copy->advance(seconds);
      } catch (const std::exception& error) {
        move->error = error.what();
      }
      worked = worked || move->copy->bytes_left() != before;
      if (move->error.empty() && !move->copy->done()) {
        ++move;
        continue;
      }
    }
    Move ended = std::move(*move);
    move = moves_.erase(move);
    end(ended);
    return true;  // the list may have changed
  }
  return worked;
}

/// Ends a move that is complete or has failed.
void HostTier::end(Move& move) {
  Snapshot& snapshot = *move.snapshot;
  if (move.error.empty()) move.error = move.copy->error();
  std::unique_ptr<ServedSequence> copied;
  if (move.error.empty()) copied = move.copy->take();
  move.copy.reset();
  const bool in_cache = snapshot.node != nullptr;
  const Moved moved{move.out, move.out ? move.bytes : move.device_bytes,
                    engine_.now() - move.began};
  if (move.out) return end_out(move, std::move(copied), moved);
  snapshot.loading = false;
  --snapshot.pins;
  if (copied != nullptr) {
    if (on_moved) on_moved(moved);
    cache_.fill(snapshot, std::move(copied));
    begin_after(move.snapshot);
  } else if (in_cache && snapshot.leases == 0) {
    cache_.drop_from_host(snapshot);  // another attempt would fail too
  }
  if (move.returned) move.returned(move.error);
}

void HostTier::end_out(Move& move, std::unique_ptr<ServedSequence> copied, const Moved& moved) {
  Snapshot& snapshot = *move.snapshot;
  snapshot.copying = snapshot.leaving = false;
  for (const Copied& done : move.copied) done(copied ? copied->clone() : nullptr, move.error);
  if (move.for_file) return;
  snapshot.unmovable = copied == nullptr;
  if (copied == nullptr || snapshot.node == nullptr) return;
  snapshot.on_host = std::move(copied);
  begin_after(move.snapshot);
  if (move.leaves) {
    snapshot.leaving = true;
    departures_.push_back({move.snapshot, move.device_bytes});
  }
  if (on_moved) on_moved(moved);
}

/// Frees the device memory of snapshots that have been copied, the longest of a conversation first:
/// until then the memory of the others would not be freed. Returns whether any has left.
bool HostTier::depart() {
  bool departed = false;
  for (auto each = departures_.begin(); each != departures_.end();) {
    Snapshot& snapshot = *each->snapshot;
    const bool stays = snapshot.node == nullptr || snapshot.sequence == nullptr ||
                       snapshot.on_host == nullptr || snapshot.leases > 0 || snapshot.pins > 0;
    if (!stays && shares_with_others_below(snapshot)) {
      ++each;
      continue;
    }
    snapshot.leaving = false;
    if (!stays) {
      const size_t bytes = each->bytes;
      cache_.evict(snapshot);
      if (on_freed) on_freed(bytes);
    }
    each = departures_.erase(each);
    departed = true;
  }
  return departed;
}

size_t HostTier::leaving_bytes() const {
  size_t bytes = 0;
  for (const Departure& each : departures_) bytes += each.bytes;
  for (const Move& move : moves_) {
    if (move.out && move.leaves) bytes += move.device_bytes;
  }
  return bytes;
}

size_t HostTier::arriving_bytes(bool allocated) const {
  size_t bytes = 0;
  for (const Move& move : moves_) {
    if (move.out) continue;
    const size_t left = move.copy != nullptr ? move.copy->bytes_left() : move.device_bytes;
    bytes += allocated ? move.device_bytes - std::min(left, move.device_bytes) : left;
  }
  return bytes;
}

}  // namespace longhaul::serve
