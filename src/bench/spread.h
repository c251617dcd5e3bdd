#pragma once
// Computes the median, minimum and maximum of a quantity that was measured several times.

#include <vector>

namespace longhaul {

struct Spread {
  double median = 0;
  double min = 0;
  double max = 0;
};

/// Returns median, minimum and maximum of `values`. All are zero if there are no values.
Spread spread_of(std::vector<double> values);

}  // namespace longhaul
