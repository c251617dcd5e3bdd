#pragma once
// A value measured several times.

#include <vector>

namespace longhaul {

struct Spread {
  double median = 0;
  double min = 0;
  double max = 0;
};

/// All zero if there are no values.
Spread spread_of(std::vector<double> values);

}  // namespace longhaul
