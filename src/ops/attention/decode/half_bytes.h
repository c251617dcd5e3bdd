#pragma once
// Converts the nibbles (half bytes) of Q4_0 to the format that the decode kernel multiplies
// (block_products.cuh).

#include "ops/core/gpu/numbers.h"

namespace longhaul::cuda {

/// Computes (x & mask) | bits in one instruction. Without the assembly, the compiler emits two if
/// mask and bits are constants.
LH_EVERYWHERE uint32_t masked_with(uint32_t x, uint32_t mask, uint32_t bits) {
#ifdef __CUDA_ARCH__
  uint32_t y;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(y) : "r"(x), "r"(mask), "r"(bits));
  return y;
#else
  return (x & mask) | bits;
#endif
}

/// The amount by which results of raised_half_bytes() exceed the Q4_0 values.
inline constexpr float kRaised = 136.0f;

/// Returns nibble n (0 to 3) of each 16-bit half of x as a bf16. The result is the nibble plus 128,
/// which is the Q4_0 value (-8 to 7) plus 136. The conversion of two values takes two operations: a
/// shift and masked_with(). The excess of 136 is subtracted from the sums later.
LH_EVERYWHERE uint32_t raised_half_bytes(uint32_t x, int n) {
  return masked_with(x >> (4 * n), 0x000f000fu, 0x43004300u);
}

/// Returns the low 16 bits of a and of b as one word.
LH_EVERYWHERE uint32_t halves_of(uint32_t a, uint32_t b) { return pick_bytes(a, b, 0x5410u); }
/// Returns the high 16 bits of a and of b as one word.
LH_EVERYWHERE uint32_t upper_halves_of(uint32_t a, uint32_t b) { return pick_bytes(a, b, 0x7632u); }

}  // namespace longhaul::cuda
