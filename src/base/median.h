#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace longhaul {

/// The median; for an even number of values, the mean of the two middle ones; 0 without values.
inline double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace longhaul
