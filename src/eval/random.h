#pragma once
// Generates random numbers for tasks. Each sample has its own sequence of random numbers. Sample i
// therefore stays the same if a run has more samples.

#include <xxhash.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/random.h"

namespace longhaul {

class Random {
 public:
  explicit Random(uint64_t seed) : numbers_(seed) {}
  /// Generates the sequence of sample number `sample` of a task at one length.
  Random(std::string_view task, uint64_t seed, int64_t length, int64_t sample)
      : numbers_(
            seed_of(task, seed, static_cast<uint64_t>(length), static_cast<uint64_t>(sample))) {}

  uint64_t bits() { return numbers_.next(); }

  /// Returns a number from 0 to count - 1. The numbers are not exactly uniform, but the bias is
  /// below 2^-32 for all values of `count` in use.
  uint64_t below(uint64_t count) {
    LH_ASSERT(count > 0);
    return bits() % count;
  }
  /// Returns a number from `least` to `most`.
  int64_t between(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(below(static_cast<uint64_t>(most - least) + 1));
  }
  /// Returns a number in [0, 1).
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

  template <class List>
  const auto& pick(const List& list) {
    return list[static_cast<size_t>(below(std::size(list)))];
  }

  template <class T>
  void shuffle(std::vector<T>& list) {
    for (size_t i = list.size(); i > 1; --i) {
      std::swap(list[i - 1], list[static_cast<size_t>(below(i))]);
    }
  }

  /// Returns a number with `count` digits as text, such as "4082716". The first digit is not 0.
  std::string digits(int count) {
    std::string text(1, static_cast<char>('1' + below(9)));
    while (static_cast<int>(text.size()) < count) text += static_cast<char>('0' + below(10));
    return text;
  }

  /// Returns a UUID of version 4 in lower case.
  std::string uuid() {
    constexpr std::string_view kHex = "0123456789abcdef";
    std::string text;
    for (int i = 0; i < 32; ++i) {
      if (i == 8 || i == 12 || i == 16 || i == 20) text += '-';
      text += i == 12 ? '4' : kHex[static_cast<size_t>(i == 16 ? 8 + below(4) : below(16))];
    }
    return text;
  }

 private:
  static uint64_t seed_of(std::string_view task, uint64_t seed, uint64_t length, uint64_t sample) {
    const auto mixed = SplitMix64::mixed;
    const uint64_t of_task = XXH3_64bits_withSeed(task.data(), task.size(), seed);
    return mixed(mixed(of_task ^ mixed(length)) ^ mixed(sample + (uint64_t{1} << 32)));
  }

  SplitMix64 numbers_;
};

}  // namespace longhaul
