#pragma once
// The quantile of a block's map, by one block of threads in phases (block.h).

#include "ops/blocks/span_memory.h"

namespace longhaul::cuda {

/// a + b * c, rounded twice.
LH_BOTH float sum_of_product(float a, float b, float c) {
#ifdef __CUDA_ARCH__
  return __fadd_rn(a, __fmul_rn(b, c));
#else
  return a + b * c;
#endif
}

/// Thread t empties its share of the bins in which find_rank() counts. The block must wait once
/// before it calls that.
LH_BOTH void clear_bins(QuantileShared& s, int t) {
  LH_UNROLL(1)
  for (int i = t; i < 1 << QuantileShared::kDigit; i += kBlockThreads) s.bins[i] = 0;
  if (t == 0) s.prefix = 0;
}

/// Finds the key of rank `rank` (0: the lowest) of n numbers: s.prefix is its order_key(), s.rank
/// its place among its equals, s.same how many they are. Digits of 11, 11 and 10 bits are three
/// waits each, and spread over more bins than bytes do, where most numbers have the same exponent.
/// clear_bins() must have run. Thread t also calls beside(t), during the first digit's count.
template <class Block, class Beside>
LH_PHASES void find_rank(const Block& block, QuantileShared& s, const float* numbers, int n,
                         uint32_t rank, Beside&& beside) {
  constexpr int kDigit = QuantileShared::kDigit, kEach = (1 << kDigit) / kBlockThreads;
  LH_UNROLL(1)
  for (int known = 0; known < 32; known += kDigit) {
    const int bits = kDigit < 32 - known ? kDigit : 32 - known, shift = 32 - known - bits;
    const uint32_t prefix = s.prefix, mask = (1u << bits) - 1;
    const uint32_t above = known == 0 ? 0 : ~0u << (shift + bits);
    block.each([&](int t) {
      if (known == 0) beside(t);
      LH_UNROLL(1)
      for (int i = t; i < n; i += kBlockThreads) {
        const uint32_t key = order_key(numbers[i]);
        if ((key & above) == prefix) block.add(s.bins[key >> shift & mask], 1);
      }
    });
    const auto size_of = [&](int t) {
      uint32_t sum = 0;
      for (int i = 0; i < kEach; ++i) sum += s.bins[kEach * t + i];
      return sum;
    };
    block.after_scan(s.scan, size_of, [&](int t, uint32_t before) {
      for (int i = 0; i < kEach; ++i) {
        const uint32_t size = s.bins[kEach * t + i];
        s.bins[kEach * t + i] = 0;
        if (before <= rank && rank < before + size) {
          s.prefix = prefix | static_cast<uint32_t>(kEach * t + i) << shift;
          s.rank = rank - before, s.same = size;
        }
        before += size;
      }
    });
    rank = s.rank;
  }
}

/// The quantile of n numbers, interpolated linearly, which all threads get.
template <class Block, class Beside>
LH_PHASES float quantile_of(const Block& block, QuantileShared& s, LargestKeyShared& largest,
                            const float* numbers, int n, double level, Beside&& beside) {
  const double place = level * static_cast<double>(n - 1);
  const auto below = static_cast<uint32_t>(place);
  find_rank(block, s, numbers, n, below, beside);
  const uint32_t low = s.prefix;
  const bool last = below + 1 == static_cast<uint32_t>(n), same = s.rank + 1 < s.same;
  if (last || same) return float_of_key(low);  // all threads alike
  // The lowest above: the key of all others is 0, that of none of these.
  const uint64_t next = block.largest_key(largest, 1, [&](int t) {
    uint32_t most = 0;
    LH_UNROLL(1)
    for (int i = t; i < n; i += kBlockThreads) {
      const uint32_t key = order_key(numbers[i]);
      if (key > low && ~key > most) most = ~key;
    }
    return uint64_t{most};
  });
  const float from = float_of_key(low), to = float_of_key(~static_cast<uint32_t>(next));
  return sum_of_product(from, static_cast<float>(place - static_cast<double>(below)), to - from);
}

}  // namespace longhaul::cuda
