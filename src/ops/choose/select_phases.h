#pragma once
// Selects the rows of a list with the highest scores. One thread block runs the code in phases
// (block.h). A radix search finds the lowest score that is kept. Then the rows above this score are
// written, and as many rows with this score as fit. ops/choose/score_threshold.h defines the order
// and the treatment of equal scores.

#include "ops/core/gpu/block.h"
#include "ops/core/gpu/numbers.h"

namespace longhaul::cuda {

/// A selection from one list. Rows [0, first), the last `last` rows and the best rows between them
/// are kept, `count` rows in total.
struct SelectTask {
  const float* scores = nullptr;
  int64_t rows = 0;
  int64_t first = 0, last = 0, count = 0;  ///< count >= first + last
  int32_t* out = nullptr;                  ///< [min(rows, count)]
};

struct SelectShared {
  static constexpr int kBins = 256, kCopies = 8;
  uint32_t bins[kCopies][kBins + 1];  ///< several copies, because most scores fall into few bins
  ScanShared scan;
  uint64_t prefix;      ///< prefix of the keys among which the search continues
  uint32_t left;        ///< number of keys with this prefix that are kept
  uint32_t same;        ///< number of keys with this prefix
  uint32_t more, ties;  ///< numbers of rows written, and of equal keys found so far
  int64_t row;          ///< result of find_equal()
};

/// Returns a key that orders floats: larger floats have larger keys. -0 counts as 0, and NaN as
/// minus infinity.
LH_BOTH uint32_t order_key(float x) {
  constexpr uint32_t kSign = 0x80000000u, kMinusInfinity = ~0xff800000u;
  const uint32_t u = bits_of(x + 0.0f);  // -0 becomes 0
  const uint32_t key = (u & kSign) != 0 ? ~u : u | kSign;
  return x != x ? kMinusInfinity : key;
}

/// Returns the float of an order_key().
LH_BOTH float float_of_key(uint32_t key) {
  constexpr uint32_t kSign = 0x80000000u;
  return float_of((key & kSign) != 0 ? key & ~kSign : ~key);
}

/// Finds the k-th highest of n keys, with 0 < k <= n. A key has `bits` bits, a multiple of 8, and
/// key_of(i) returns key i. s.prefix receives the result, s.left the number of keys equal to it
/// among the k highest, and s.same the number of all keys equal to it.
template <class Block, class KeyOf>
LH_PHASES void find_boundary(const Block& block, SelectShared& s, int64_t n, uint32_t k, int bits,
                             KeyOf&& key_of) {
  using Key = decltype(key_of(int64_t{0}));
  block.each([&](int t) {
    if (t == 0) s.prefix = 0, s.left = k;
  });
  for (int shift = bits - 8; shift >= 0; shift -= 8) {
    block.each([&](int t) {
      for (int i = t; i < SelectShared::kCopies * SelectShared::kBins; i += kBlockThreads) {
        s.bins[i / SelectShared::kBins][i % SelectShared::kBins] = 0;
      }
    });
    const bool any = shift + 8 == bits;  // no digit of the key is known yet
    block.each([&](int t) {
      const Key prefix = any ? Key{0} : static_cast<Key>(s.prefix) >> (shift + 8);
      for (int64_t i = t; i < n; i += kBlockThreads) {
        const Key key = key_of(i);
        if (any || key >> (shift + 8) == prefix) {
          block.add(s.bins[t % SelectShared::kCopies][key >> shift & 255], 1);
        }
      }
    });
    // Thread t handles bin 255 - t, so that higher bins come before it.
    const auto size_of = [&](int t) {
      uint32_t sum = 0;
      if (t >= SelectShared::kBins) return sum;
      for (int c = 0; c < SelectShared::kCopies; ++c) sum += s.bins[c][255 - t];
      return sum;
    };
    block.scan(s.scan, size_of);
    block.each([&](int t) {
      if (t >= SelectShared::kBins) return;
      const uint32_t before = s.scan.before[t], size = size_of(t);
      const bool here = before < k && k <= before + size;
      if (here) s.left = k - before, s.same = size, s.more = static_cast<uint32_t>(255 - t);
    });
    block.each([&](int t) {
      if (t == 0) s.prefix |= uint64_t{s.more} << shift;
    });
    k = s.left;
  }
}

/// Finds the k-th highest of n scores. s.prefix receives its order_key().
template <class Block>
LH_PHASES void find_boundary(const Block& block, SelectShared& s, const float* scores, int64_t n,
                             uint32_t k) {
  find_boundary(block, s, n, k, 32, [&](int64_t i) { return order_key(scores[i]); });
}

/// Writes the selected rows in ascending order to task.out.
template <class Block>
LH_PHASES void select_rows(const Block& block, SelectShared& s, const SelectTask& task) {
  const bool all = task.rows <= task.count;
  const int64_t first = all ? task.rows : task.first, last = all ? 0 : task.last;
  const int64_t chosen = all ? 0 : task.count - first - last;
  const int64_t n = task.rows - first - last;
  block.each([&](int t) {
    for (int64_t i = t; i < first; i += kBlockThreads) task.out[i] = static_cast<int32_t>(i);
    for (int64_t i = t; i < last; i += kBlockThreads) {
      task.out[first + chosen + i] = static_cast<int32_t>(task.rows - last + i);
    }
    if (t == 0) s.more = s.ties = 0;
  });
  if (chosen == 0) return;  // all threads agree
  const float* scores = task.scores + first;
  find_boundary(block, s, scores, n, static_cast<uint32_t>(chosen));
  block.each([&](int t) {
    if (t == 0) s.more = s.ties = 0;
  });
  const auto boundary = static_cast<uint32_t>(s.prefix);
  const uint32_t equals = s.left;
  // Each thread processes four scores at a time. The upper half of its count is the number of rows
  // above the boundary, and the lower half is the number of rows equal to it.
  constexpr int kEach = 4;
  for (int64_t begin = 0; begin < n; begin += int64_t{kEach} * kBlockThreads) {
    const auto count = [&](int t) {
      uint32_t found = 0;
      for (int i = 0; i < kEach; ++i) {
        const int64_t at = begin + t * kEach + i;
        if (at >= n) break;
        const uint32_t key = order_key(scores[at]);
        found += key > boundary ? 1u << 16 : key == boundary ? 1u : 0u;
      }
      return found;
    };
    block.scan(s.scan, count);
    block.each([&](int t) {
      const uint32_t before = s.scan.before[t];
      uint32_t more = s.more + (before >> 16), ties = s.ties + (before & 0xffffu);
      for (int i = 0; i < kEach; ++i) {
        const int64_t at = begin + t * kEach + i;
        if (at >= n) break;
        const uint32_t key = order_key(scores[at]);
        const bool tie = key == boundary;
        if (key > boundary || (tie && ties < equals)) {
          task.out[first + more + (ties < equals ? ties : equals)] =
              static_cast<int32_t>(first + at);
        }
        more += key > boundary;
        ties += tie;
      }
    });
    block.each([&](int t) {
      if (t == 0) s.more += s.scan.all >> 16, s.ties += s.scan.all & 0xffffu;
    });
  }
}

}  // namespace longhaul::cuda
