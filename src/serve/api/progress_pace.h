#pragma once
// Decides when a stream sends a progress event during prefill.

#include <algorithm>

namespace longhaul::serve {

/// The intervals between events double from 250 ms to 15 s, because some clients show every event.
class ProgressPace {
 public:
  /// Returns whether an event is due `seconds` after the prefill began.
  bool due(double seconds) {
    if (seconds < next_) return false;
    next_ = seconds + interval_;
    interval_ = std::min(2 * interval_, 15.0);
    return true;
  }

 private:
  double next_ = 0, interval_ = 0.25;
};

}  // namespace longhaul::serve
