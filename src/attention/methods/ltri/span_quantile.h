#pragma once
// Computes a quantile of the entries of a block's attention map. The code is for one thread block,
// as phases between barriers (ops/core/gpu/block.h). order_key() converts a float to an integer
// with the same order, the key of the float.

#include "attention/methods/ltri/span_memory.h"

namespace longhaul::cuda {

/// Returns a + b * c, with the product rounded before the addition, as on the host.
LH_BOTH float sum_of_product(float a, float b, float c) {
#ifdef __CUDA_ARCH__
  return __fadd_rn(a, __fmul_rn(b, c));
#else
  return a + b * c;
#endif
}

/// Clears the bins of find_rank() for which thread t is responsible. A barrier must follow before
/// find_rank() is called.
LH_BOTH void clear_bins(QuantileShared& s, int t) {
  LH_UNROLL(1)
  for (int i = t; i < 1 << QuantileShared::kDigit; i += kBlockThreads) s.bins[i] = 0;
  if (t == 0) s.prefix = 0;
}

/// Finds the number with rank `rank` (0: the lowest) among n numbers. s.prefix receives its
/// order_key(), s.rank its rank among equal numbers, and s.same the number of equal numbers.
/// clear_bins() must have been called. Thread t also calls beside(t) while the first digit is
/// counted, for other work that needs no further barrier.
///
/// The search counts the numbers per digit of their keys, with digits of 11, 11 and 10 bits and
/// three barriers per digit. Most numbers have equal exponents, and digits of 11 bits distribute
/// them over more bins than digits of 8 bits.
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

/// Returns the linearly interpolated quantile `level` (0 to 1) of n numbers. All threads get the
/// same result.
template <class Block, class Beside>
LH_PHASES float quantile_of(const Block& block, QuantileShared& s, LargestKeyShared& largest,
                            const float* numbers, int n, double level, Beside&& beside) {
  const double place = level * static_cast<double>(n - 1);
  const auto below = static_cast<uint32_t>(place);
  find_rank(block, s, numbers, n, below, beside);
  const uint32_t low = s.prefix;
  const bool last = below + 1 == static_cast<uint32_t>(n), same = s.rank + 1 < s.same;
  if (last || same) return float_of_key(low);  // the condition is equal in all threads
  // Finds the lowest key above `low`, as the key with the largest complement. Keys that are not
  // above `low` count as 0.
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
