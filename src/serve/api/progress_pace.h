#pragma once
// Decides when the server sends a progress event to the client during the prefill of its prompt.

#include <algorithm>

namespace longhaul::serve {

/// The interval between two events doubles from 250 ms to 15 s. Some clients show every event as a
/// line, so a long prefill must not cause many events.
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
