#include "bench/spread.h"

#include <algorithm>

namespace longhaul {

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return {median, values.front(), values.back()};
}

}  // namespace longhaul
