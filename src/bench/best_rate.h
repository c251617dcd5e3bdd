#pragma once

#include <algorithm>

#include "base/clock.h"

namespace longhaul {

/// Returns the runs per second of the fastest of several runs. The first run is a warm-up.
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
