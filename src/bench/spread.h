#pragma once
// The spread of a value that was measured several times.

#include <vector>

namespace longhaul {

struct Spread {
  double median = 0;
  double min = 0;
  double max = 0;
};

/// Returns the spread of `values`. If there are none, all members are zero.
Spread spread_of(std::vector<double> values);

}  // namespace longhaul
