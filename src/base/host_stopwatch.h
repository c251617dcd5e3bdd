#pragma once

#include "base/clock.h"
#include "base/queue.h"

namespace longhaul {

/// Measures the time that a computation takes on the host. seconds() returns the seconds since
/// construction if `queue` is the host's. It returns 0 for the queue of a device, because the host
/// only submits work to it and the device computes later.
class HostStopwatch {
 public:
  explicit HostStopwatch(const Queue& queue) : on_host_(queue.on_host()) {}
  double seconds() const { return on_host_ ? watch_.seconds() : 0; }

 private:
  bool on_host_;
  Stopwatch watch_;
};

}  // namespace longhaul
