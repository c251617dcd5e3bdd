#pragma once

#include "base/clock.h"
#include "base/queue.h"

namespace longhaul {

/// Measures the seconds since construction in which the host computes. For the queue of a device
/// the result is 0, because the device computes later.
class HostStopwatch {
 public:
  explicit HostStopwatch(const Queue& queue) : on_host_(queue.on_host()) {}
  double seconds() const { return on_host_ ? watch_.seconds() : 0; }

 private:
  bool on_host_;
  Stopwatch watch_;
};

}  // namespace longhaul
