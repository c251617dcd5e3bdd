#pragma once
// Random numbers that are the same on every machine and with every standard library.

#include <cstdint>

namespace longhaul {

/// SplitMix64 (Steele, Lea, Flood 2014).
class SplitMix {
 public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  /// 0..bound-1, bound < 2^32; the bias of at most bound / 2^32 is far below a test's own noise.
  uint64_t below(uint64_t bound) { return ((next() >> 32) * bound) >> 32; }

 private:
  uint64_t state_;
};

}  // namespace longhaul
