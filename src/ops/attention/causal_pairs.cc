#include "ops/attention/causal_pairs.h"

#include <algorithm>

namespace longhaul {

int64_t causal_pairs(int64_t begin, int64_t rows, int64_t window) {
  const int64_t end = begin + rows;
  // from here on each row sees `window` keys
  const int64_t full = window > 0 ? std::clamp(window, begin, end) : end;
  // For earlier rows: the sum over t in [begin, full) of t + 1.
  return (full * (full + 1) - begin * (begin + 1)) / 2 + (end - full) * window;
}

int64_t dense_pairs(std::span<const int64_t> windows, int64_t begin, int64_t rows) {
  int64_t pairs = 0;
  for (const int64_t window : windows) pairs += causal_pairs(begin, rows, window);
  return pairs;
}

}  // namespace longhaul
