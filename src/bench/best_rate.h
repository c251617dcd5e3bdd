#pragma once

#include <algorithm>

#include "base/clock.h"

namespace longhaul {

/// Calls work() repeatedly, for at least `seconds` seconds and at least `fewest` times. Returns 1 /
/// (seconds of the fastest call). Before these calls, calls work() once without measuring it.
template <class Work>
double best_rate(double seconds, int fewest, Work&& work) {
  work();
  double best = 0;
  const Stopwatch total;
  for (int run = 0; run < fewest || total.seconds() < seconds; ++run) {
    const Stopwatch one;
    work();
    best = std::max(best, 1 / one.seconds());
  }
  return best;
}

}  // namespace longhaul
