#include "bench/read_memory.h"

namespace longhaul::LH_ISA {
namespace {

/// Uses many independent sums, so that no load waits for an addition.
uint64_t sum_words(const uint64_t* words, int64_t count) {
  constexpr int kSums = 64;
  uint64_t sums[kSums] = {};
  for (int64_t i = 0; i < count; i += kSums) {
    for (int j = 0; j < kSums; ++j) sums[j] += words[i + j];
  }
  uint64_t total = 0;
  for (const uint64_t s : sums) total += s;
  return total;
}

}  // namespace

extern const ReadMemoryTable kReadMemory = {sum_words};

}  // namespace longhaul::LH_ISA
