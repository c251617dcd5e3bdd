#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace longhaul {

/// Of an even count, the middle of the two in the middle; 0 for none.
inline double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace longhaul
