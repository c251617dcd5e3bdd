#pragma once
// Represents the best rows of a list by a threshold that each thread can test. The threshold
// consists of the lowest sort key that is kept (find_boundary() of select_phases.h) and of the last
// row that is kept among the rows with this sort key.

#include "ops/choose/select_phases.h"

namespace longhaul::cuda {

/// Rows with sort keys above `key` are kept, and rows with equal sort keys up to row `last`.
struct KeyThreshold {
  uint32_t key = ~0u;  ///< no number has this sort key, so that nothing is kept
  int64_t last = -1;

  LH_BOTH bool holds(uint32_t of, int64_t row) const {
    return of > key || (of == key && row <= last);
  }
};

/// Finds the k-th row whose sort key equals s.prefix, and stores its number in s.row.
template <class Block, class KeyOf>
LH_PHASES void find_equal(const Block& block, SelectShared& s, int64_t n, uint32_t k,
                          KeyOf&& key_of) {
  const auto boundary = static_cast<uint32_t>(s.prefix);
  constexpr int kEach = 4;
  block.each([&](int t) {
    if (t == 0) s.ties = 0;
  });
  for (int64_t begin = 0; begin < n; begin += int64_t{kEach} * kBlockThreads) {
    const auto count = [&](int t) {
      uint32_t found = 0;
      for (int i = 0; i < kEach; ++i) {
        const int64_t at = begin + t * kEach + i;
        if (at < n && key_of(at) == boundary) ++found;
      }
      return found;
    };
    block.scan(s.scan, count);
    block.each([&](int t) {
      uint32_t ties = s.ties + s.scan.before[t];
      for (int i = 0; i < kEach; ++i) {
        const int64_t at = begin + t * kEach + i;
        if (at < n && key_of(at) == boundary && ++ties == k) s.row = at;
      }
    });
    block.each([&](int t) {
      if (t == 0) s.ties += s.scan.all;
    });
    if (s.ties >= k) break;  // the condition is the same in all threads
  }
}

/// Returns the threshold that keeps the best k of n sort keys. Among rows with equal sort keys,
/// those with the lowest numbers are kept.
template <class Block, class KeyOf>
LH_PHASES KeyThreshold find_threshold(const Block& block, SelectShared& s, int64_t n, int64_t k,
                                      KeyOf&& key_of) {
  if (k <= 0) return {};
  if (k >= n) return {0, n};
  find_boundary(block, s, n, static_cast<uint32_t>(k), 32, key_of);
  const auto key = static_cast<uint32_t>(s.prefix);
  const uint32_t left = s.left;
  const bool all_equals = left == s.same;
  block.each([](int) {});  // barrier: all threads have read `s` before it changes
  if (all_equals) return {key, n};
  find_equal(block, s, n, left, key_of);
  const int64_t last = s.row;
  block.each([](int) {});
  return {key, last};
}

/// Writes first + i for each i < n with is_kept(i), in ascending order. Stores in s.more how many
/// were written.
template <class Block, class IsKept>
LH_PHASES void write_kept(const Block& block, SelectShared& s, int64_t n, int64_t first,
                          int32_t* out, IsKept&& is_kept) {
  constexpr int kEach = 4;
  block.each([&](int t) {
    if (t == 0) s.more = 0;
  });
  for (int64_t begin = 0; begin < n; begin += int64_t{kEach} * kBlockThreads) {
    const auto count = [&](int t) {
      uint32_t found = 0;
      for (int i = 0; i < kEach; ++i) {
        const int64_t at = begin + t * kEach + i;
        found += at < n && is_kept(at) ? 1 : 0;
      }
      return found;
    };
    block.scan(s.scan, count);
    block.each([&](int t) {
      uint32_t to = s.more + s.scan.before[t];
      for (int i = 0; i < kEach; ++i) {
        const int64_t at = begin + t * kEach + i;
        if (at < n && is_kept(at)) out[to++] = static_cast<int32_t>(first + at);
      }
    });
    block.each([&](int t) {
      if (t == 0) s.more += s.scan.all;
    });
  }
}

}  // namespace longhaul::cuda
