#pragma once
// Which keys of a segment a query row sees. `static`, since kernels are compiled once for each
// instruction set and must not share code.

#include <cstdint>

#include "ops/attention/attention.h"

namespace longhaul {

/// Number of the stored row that key i of the segment is.
static inline int64_t row_of(const KeySegment& s, int64_t i) {
  return s.index.empty() ? s.begin + i : s.index.address()[i];
}

/// Number of the segment's keys that stand before `position`.
static inline int64_t keys_before(const KeySegment& s, int64_t position) {
  if (!s.indexed_positions) {
    const int64_t n = position - s.position;
    return n < 0 ? 0 : n > s.count ? s.count : n;
  }
  int64_t low = 0, high = s.count;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (s.position + s.index.address()[middle] < position) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

struct KeyRange {
  int64_t begin, end;
};

/// The keys of the segment that a row at `position` sees: always one stretch.
static inline KeyRange visible_keys(const KeySegment& s, int64_t position) {
  switch (s.visible) {
    case Visibility::kCausal:
      return {0, keys_before(s, position + 1)};
    case Visibility::kWindow:
      return {keys_before(s, position - s.window + 1), keys_before(s, position + 1)};
    case Visibility::kBeyond:
      return {0, keys_before(s, position - s.window + 1)};
    default:
      return {0, s.count};
  }
}

}  // namespace longhaul
