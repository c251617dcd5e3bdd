#pragma once
// Where work runs, in order. Operations take a queue first: the host's queue does the work at once,
// a device's hands it on and returns.

#include "base/place.h"

namespace longhaul {

class Queue {
 public:
  Queue() = default;  ///< the host's
  explicit Queue(Place place) : place_(place) {}

  Place place() const { return place_; }
  bool on_host() const { return place_.host(); }
  /// Returns when all work that was handed on is done: the only synchronisation. The host's queue
  /// has none under way.
  void wait() {}

 private:
  Place place_;
};

/// The queue of work on the host. It has no state, so that all threads may share it.
inline Queue& host_queue() {
  static Queue queue;
  return queue;
}

}  // namespace longhaul
