#pragma once
// Weights on their way to the second-level cache while those before them are multiplied.

#include "ops/cpu/matvec_kernels.h"

namespace longhaul::LH_ISA {
namespace {

/// Asks for as many bytes as are about to be used, kPrefetchBytes further on.
inline void prefetch_ahead_of(const uint8_t* weights, int bytes) {
  for (int line = 0; line < bytes; line += 64) {
    __builtin_prefetch(weights + kPrefetchBytes + line, 0, 2);
  }
}

}  // namespace
}  // namespace longhaul::LH_ISA
