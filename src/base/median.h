#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace longhaul {

/// Returns the median. For an even number of values, it is the mean of the two middle values.
/// Without values, it is 0.
inline double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace longhaul
