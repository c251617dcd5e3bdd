#pragma once
// Finds the keys of a segment that a query row sees. The functions are `static`, because kernels
// are compiled once per instruction-set level and must not share machine code.

#include <cstdint>

#include "ops/attention/attention.h"

namespace longhaul {

/// Returns the number of the stored row that holds key i of the segment.
static inline int64_t row_of(const KeySegment& s, int64_t i) {
  return s.index.empty() ? s.begin + i : s.index.address()[i];
}

/// Returns how many keys of the segment have positions before `position`.
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

/// Returns the range of the segment's keys that a query row at `position` sees. The visible keys
/// are always consecutive.
static inline KeyRange visible_keys(const KeySegment& s, int64_t position) {
  switch (s.visible) {
    case Visibility::kCausal:
      return {0, keys_before(s, position + 1)};
    case Visibility::kWindow:
      return {keys_before(s, position - s.window + 1), keys_before(s, position + 1)};
    case Visibility::kChunk:
      return {keys_before(s, position - position % s.window), keys_before(s, position + 1)};
    case Visibility::kBeyond:
      return {0, keys_before(s, position - s.window + 1)};
    default:
      return {0, s.count};
  }
}

}  // namespace longhaul
