#pragma once
// Writes the numbers of the set bits of an array of words. One thread block runs the code in phases
// (ops/core/gpu/block.h).

#include "ops/core/gpu/block.h"

namespace longhaul::cuda {

struct BitShared {
  static constexpr int kEach = 4;  ///< words that a thread processes at a time
  /// Words that the thread block processes at a time.
  static constexpr int kStretch = kEach * kBlockThreads;
  uint32_t words[kStretch];
  ScanShared scan;
  uint32_t written;
};

LH_BOTH int count_bits(uint32_t word) {
#ifdef __CUDA_ARCH__
  return __popc(word);
#else
  return __builtin_popcount(word);
#endif
}

/// Returns the number of the lowest set bit. `word` must not be zero.
LH_BOTH int lowest_bit(uint32_t word) {
#ifdef __CUDA_ARCH__
  return __ffs(static_cast<int>(word)) - 1;
#else
  return __builtin_ctz(word);
#endif
}

/// Returns a mask of the bits with numbers in [begin, end). The lowest bit of the word has number
/// `first`.
LH_BOTH uint32_t bits_between(int64_t first, int64_t begin, int64_t end) {
  const int64_t low = begin > first ? begin - first : 0;
  const int64_t high = end < first + 32 ? end - first : 32;
  if (low >= high) return 0;
  return (high == 32 ? ~0u : (1u << high) - 1) & ~((1u << low) - 1);
}

/// Writes the numbers of the set bits of `words` words to `out` in ascending order, and their count
/// to s.written. To read words [first, first + kEach), a thread calls words_of(first, to), which
/// must write them to `to`. It must write zeros for words past the end.
template <class Block, class WordsOf>
LH_PHASES void list_bits(const Block& block, BitShared& s, int64_t words, WordsOf&& words_of,
                         int32_t* out) {
  constexpr int kEach = BitShared::kEach;
  block.each([&](int t) {
    if (t == 0) s.written = 0;
  });
  for (int64_t begin = 0; begin < words; begin += BitShared::kStretch) {
    block.each([&](int t) { words_of(begin + t * kEach, s.words + t * kEach); });
    block.scan(s.scan, [&](int t) {
      int bits = 0;
      for (int w = 0; w < kEach; ++w) bits += count_bits(s.words[t * kEach + w]);
      return static_cast<uint32_t>(bits);
    });
    block.each([&](int t) {
      int32_t* to = out + s.written + s.scan.before[t];
      for (int w = 0; w < kEach; ++w) {
        const auto first = static_cast<int32_t>((begin + t * kEach + w) * 32);
        for (uint32_t left = s.words[t * kEach + w]; left != 0; left &= left - 1) {
          *to++ = first + lowest_bit(left);
        }
      }
    });
    block.each([&](int t) {
      if (t == 0) s.written += s.scan.all;
    });
  }
}

}  // namespace longhaul::cuda
