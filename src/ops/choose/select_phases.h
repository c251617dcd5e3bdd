#pragma once
// Selects the rows of a list with the highest scores. A list is the stored rows of one KV head. One
// thread block runs the code in phases (ops/core/gpu/block.h). A radix search finds the lowest
// score that is kept. Then the rows above this score are written, and as many rows with this score
// as are still needed. ops/choose/score_threshold.h defines the order of scores and the treatment
// of equal scores.

#include "ops/core/gpu/block.h"
#include "ops/core/gpu/numbers.h"

namespace longhaul::cuda {

/// A selection from one list. It keeps rows [0, first), the last `last` rows, and the best rows
/// between them: `count` rows in total.
struct SelectTask {
  const float* scores = nullptr;
  int64_t rows = 0;
  int64_t first = 0, last = 0, count = 0;  ///< count >= first + last
  int32_t* out = nullptr;                  ///< [min(rows, count)]
};

struct SelectShared {
  static constexpr int kBins = 256, kCopies = 8;
  uint32_t bins[kCopies][kBins + 1];  ///< several copies, because most scores fall into few bins,
                                      ///< and additions to one bin wait for each other
  ScanShared scan;
  uint64_t prefix;      ///< the known leading bits of the boundary; the search continues among the
                        ///< sort keys that begin with them
  uint32_t left;        ///< how many of the sort keys with this prefix are kept
  uint32_t same;        ///< number of all sort keys with this prefix
  uint32_t more, ties;  ///< `more` counts the rows written so far, and `ties` the equal sort keys
                        ///< found so far
  int64_t row;          ///< result of find_equal() (threshold_phases.h)
};

/// Returns the sort key of x, an integer: larger floats have larger sort keys. -0 counts as 0, and
/// NaN as minus infinity.
LH_BOTH uint32_t order_key(float x) {
  constexpr uint32_t kSign = 0x80000000u, kMinusInfinity = ~0xff800000u;
  const uint32_t u = bits_of(x + 0.0f);  // turns -0 into 0
  const uint32_t key = (u & kSign) != 0 ? ~u : u | kSign;
  return x != x ? kMinusInfinity : key;
}

/// Returns the float whose order_key() is `key`.
LH_BOTH float float_of_key(uint32_t key) {
  constexpr uint32_t kSign = 0x80000000u;
  return float_of((key & kSign) != 0 ? key & ~kSign : ~key);
}

/// Finds the k-th highest of n sort keys, with 0 < k <= n. key_of(i) returns sort key i, which has
/// `bits` bits, a multiple of 8. s.prefix receives the k-th highest sort key. s.left receives how
/// many of the k highest sort keys equal it, and s.same how many of all.
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
    // Thread t handles bin 255 - t, so that the prefix sum over threads adds the higher bins first.
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

/// Writes the numbers of the selected rows to task.out, in ascending order.
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
  if (chosen == 0) return;  // the condition is the same in all threads
  const float* scores = task.scores + first;
  find_boundary(block, s, scores, n, static_cast<uint32_t>(chosen));
  block.each([&](int t) {
    if (t == 0) s.more = s.ties = 0;
  });
  const auto boundary = static_cast<uint32_t>(s.prefix);
  const uint32_t equals = s.left;
  // Each thread processes four scores at a time. The upper half of its count is the number of rows
  // above the boundary, and the lower half is the number of rows that equal it.
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
