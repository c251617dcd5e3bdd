#pragma once
// Converts the nibbles (half bytes) of Q4_0 to the bf16 numbers that the decode kernel multiplies
// (block_products.cuh).

#include "ops/core/gpu/numbers.h"

namespace longhaul::cuda {

/// Computes (x & mask) | bits in one instruction. Without the assembly, the compiler emits two
/// instructions if mask and bits are constants.
LH_EVERYWHERE uint32_t masked_with(uint32_t x, uint32_t mask, uint32_t bits) {
#ifdef __CUDA_ARCH__
  uint32_t y;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(y) : "r"(x), "r"(mask), "r"(bits));
  return y;
#else
  return (x & mask) | bits;
#endif
}

/// The amount by which the results of raised_half_bytes() exceed the numbers that the nibbles
/// represent in Q4_0.
inline constexpr float kRaised = 136.0f;

/// Returns nibble n (0 to 3) of each 16-bit half of x as a bf16. The result is the nibble plus 128.
/// The nibble represents -8 to 7 in Q4_0, so the result exceeds this number by 136. The conversion
/// of two nibbles takes two operations: a shift and masked_with(). The excess is subtracted from
/// the sums later.
LH_EVERYWHERE uint32_t raised_half_bytes(uint32_t x, int n) {
  return masked_with(x >> (4 * n), 0x000f000fu, 0x43004300u);
}

/// Returns the low 16 bits of a, followed by the low 16 bits of b.
LH_EVERYWHERE uint32_t halves_of(uint32_t a, uint32_t b) { return pick_bytes(a, b, 0x5410u); }
/// Returns the high 16 bits of a, followed by the high 16 bits of b.
LH_EVERYWHERE uint32_t upper_halves_of(uint32_t a, uint32_t b) { return pick_bytes(a, b, 0x7632u); }

}  // namespace longhaul::cuda
