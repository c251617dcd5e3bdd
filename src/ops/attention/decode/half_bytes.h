#pragma once
// Half bytes of Q4_0 as the few-row kernel multiplies them (block_products.cuh).

#include "ops/core/gpu/numbers.h"

namespace longhaul::cuda {

/// (x & mask) | bits in one instruction, which the compiler makes two of where both are constants.
LH_EVERYWHERE uint32_t masked_with(uint32_t x, uint32_t mask, uint32_t bits) {
#ifdef __CUDA_ARCH__
  uint32_t y;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(y) : "r"(x), "r"(mask), "r"(bits));
  return y;
#else
  return (x & mask) | bits;
#endif
}

/// What a number of Q4_0 is more, read by raised_half_bytes().
inline constexpr float kRaised = 136.0f;

/// Half byte n (0 to 3) of each 16 bits of x as a bf16 that is 128 more than its bits: 136 more
/// than the number that they stand for, -8 to 7. It costs one shift and one operation for two
/// numbers; what it is too much is taken from the sums.
LH_EVERYWHERE uint32_t raised_half_bytes(uint32_t x, int n) {
  return masked_with(x >> (4 * n), 0x000f000fu, 0x43004300u);
}

/// The lower halves of two words.
LH_EVERYWHERE uint32_t halves_of(uint32_t a, uint32_t b) { return pick_bytes(a, b, 0x5410u); }
/// Their upper halves.
LH_EVERYWHERE uint32_t upper_halves_of(uint32_t a, uint32_t b) { return pick_bytes(a, b, 0x7632u); }

}  // namespace longhaul::cuda
