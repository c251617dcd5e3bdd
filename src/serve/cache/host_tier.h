#pragma once
// The tier of the prefix cache in host memory beside a device (`--cache-host`). Snapshots are
// copied there before their device memory is freed, and copied back when a request needs them. All
// functions must be called on the engine's thread. None of them waits for a copy.

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "serve/cache/prefix_cache.h"

namespace longhaul::serve {

class HostTier {
 public:
  HostTier(EnginePort& engine, PrefixCache& cache) : engine_(engine), cache_(cache) {}
  ~HostTier();  ///< waits for the copies
  HostTier(const HostTier&) = delete;
  HostTier& operator=(const HostTier&) = delete;

  /// Begins to move a snapshot to host memory. Its device memory is freed when the copy is
  /// complete, unless a job uses the snapshot by then. Other snapshots leave the host memory if
  /// necessary. Returns false if the snapshot cannot be moved.
  bool move_out(Snapshot& snapshot);
  /// Begins to copy a snapshot back to the device. Its bytes must have been reserved. poll() calls
  /// `done`, with an error if the copy failed.
  using Returned = std::function<void(const std::string& error)>;
  void bring_back(const std::shared_ptr<Snapshot>& snapshot, Returned done);

  /// Begins to copy a sequence on the device to host memory, to save it in a file. poll() calls
  /// `done` with the copy, or with null and an error. If the snapshot is being moved already,
  /// `done` gets a clone of that copy.
  using Copied = std::function<void(std::unique_ptr<ServedSequence>, const std::string& error)>;
  void copy_for_file(const std::shared_ptr<Snapshot>& snapshot, Copied done);

  /// Continues copies for about `seconds`, and ends those that are complete. Returns whether it did
  /// anything.
  bool poll(double seconds);
  bool busy() const { return !moves_.empty() || !departures_.empty(); }

  /// Returns the device bytes that are freed when the copies to the host are complete.
  size_t leaving_bytes() const;
  /// Returns the device bytes that copies to the device have allocated, and those that they will
  /// allocate.
  size_t arrived_bytes() const { return arriving_bytes(true); }
  size_t coming_bytes() const { return arriving_bytes(false); }

  struct Moved {
    bool to_host = false;
    size_t copied = 0;  ///< bytes that were copied
    double seconds = 0;
  };
  /// The function is called when a snapshot has been copied to the host or back.
  std::function<void(const Moved&)> on_moved;
  /// The function is called with the device bytes that a snapshot has freed.
  std::function<void(size_t bytes)> on_freed;

 private:
  struct Move {
    std::shared_ptr<Snapshot> snapshot;
    bool out = true;
    bool leaves = false;      ///< whether the device memory is freed afterwards
    size_t bytes = 0;         ///< bytes to be copied
    size_t device_bytes = 0;  ///< bytes that a copy to the device allocates, or that are freed
    /// The move begins after that of this snapshot, to share pages with it. Null: it may begin.
    std::shared_ptr<Snapshot> after;
    std::unique_ptr<SequenceMove> copy;  ///< null: the move has not begun
    bool for_file = false;               ///< whether the copy goes only to `copied`
    std::vector<Copied> copied;
    double began = 0;
    Returned returned;
    std::string error;
  };
  /// A snapshot that has been copied to the host, and whose pages others on the device still share.
  struct Departure {
    std::shared_ptr<Snapshot> snapshot;
    size_t bytes = 0;  ///< device bytes that it frees when the others have left
  };
  size_t arriving_bytes(bool allocated) const;
  bool depart();
  bool make_host_room(size_t bytes);
  bool add_out(Snapshot& snapshot, bool leaves);
  Move* move_of(const Snapshot& snapshot);
  void begin(Move& move);
  void begin_after(const std::shared_ptr<Snapshot>& snapshot);
  void end(Move& move);
  void end_out(Move& move, std::unique_ptr<ServedSequence> copied, const Moved& moved);

  EnginePort& engine_;
  PrefixCache& cache_;
  std::list<Move> moves_;
  std::list<Departure> departures_;
};

}  // namespace longhaul::serve
