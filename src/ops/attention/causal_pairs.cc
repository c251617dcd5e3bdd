#include "ops/attention/causal_pairs.h"

#include <algorithm>

namespace longhaul {
namespace {

/// Pairs of rows [0, end) that see the keys of their own chunk of `size` rows.
int64_t chunk_pairs(int64_t end, int64_t size) {
  const int64_t whole = end / size, rest = end % size;
  return whole * (size * (size + 1) / 2) + rest * (rest + 1) / 2;
}

}  // namespace

int64_t causal_pairs(int64_t begin, int64_t rows, int64_t window, bool chunked) {
  const int64_t end = begin + rows;
  if (chunked && window > 0) return chunk_pairs(end, window) - chunk_pairs(begin, window);
  // from here on each row sees `window` keys
  const int64_t full = window > 0 ? std::clamp(window, begin, end) : end;
  // For earlier rows: the sum over t in [begin, full) of t + 1.
  return (full * (full + 1) - begin * (begin + 1)) / 2 + (end - full) * window;
}

int64_t dense_pairs(std::span<const int64_t> windows, int64_t begin, int64_t rows, bool chunked) {
  int64_t pairs = 0;
  for (const int64_t window : windows) pairs += causal_pairs(begin, rows, window, chunked);
  return pairs;
}

}  // namespace longhaul
