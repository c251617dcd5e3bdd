#pragma once
// Defines keyed hashes for tables whose keys come from files or texts. The hash depends on random
// numbers that are drawn once per process, so an attacker cannot construct keys that collide. The
// iteration order of such a table differs from run to run.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace longhaul {

/// Returns the random numbers of this process. Both are odd.
const std::array<uint64_t, 2>& hash_secrets();

uint64_t seeded_hash(std::string_view text);

/// Returns the keyed hash of a number. It multiplies twice, and combines the two halves of each
/// 128-bit product.
inline uint64_t seeded_hash(uint64_t key, const std::array<uint64_t, 2>& secrets) {
  const unsigned __int128 first = static_cast<unsigned __int128>(key ^ secrets[0]) * secrets[1];
  const uint64_t folded = static_cast<uint64_t>(first) ^ static_cast<uint64_t>(first >> 64);
  const unsigned __int128 second = static_cast<unsigned __int128>(folded) * secrets[0];
  return static_cast<uint64_t>(second) ^ static_cast<uint64_t>(second >> 64);
}

/// A hash for unordered containers. A std::string key can be found by a std::string_view.
struct SeededHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return seeded_hash(text); }
};

}  // namespace longhaul
