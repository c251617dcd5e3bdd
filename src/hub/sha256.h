#pragma once
// Computes SHA-256 (FIPS 180-4), with which the hub identifies the contents of its files.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace longhaul {

class Sha256 {
 public:
  void add(std::span<const std::byte> bytes);
  /// Returns the hash as 64 hexadecimal digits. Call it once, after all bytes have been added.
  std::string hex();

 private:
  void compress(const std::byte* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> block_{};
  size_t filled_ = 0;    ///< number of bytes used in block_
  uint64_t length_ = 0;  ///< number of bytes added so far
};

}  // namespace longhaul
