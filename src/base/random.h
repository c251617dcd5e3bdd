#pragma once
// Generates random numbers that are the same on every machine and with every standard library.

#include <cstdint>

namespace longhaul {

/// The generator SplitMix64 (Steele, Lea, Flood 2014).
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}

  uint64_t next() { return mixed(state_ += 0x9E3779B97F4A7C15u); }

  /// Applies the output function of SplitMix64 to `z`. It is also used as a hash of a number. Every
  /// bit of the result depends on every bit of `z`.
  static uint64_t mixed(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

}  // namespace longhaul
