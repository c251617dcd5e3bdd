#include "bench/spread.h"

#include <algorithm>

#include "base/median.h"

namespace longhaul {

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {median_of(values), values.front(), values.back()};
}

}  // namespace longhaul
