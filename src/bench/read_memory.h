#pragma once
// Declares a kernel that only reads memory. It measures the peak bandwidth of the memory.

#include <cstdint>

#include "ops/core/isa/per_isa.h"

namespace longhaul {

struct ReadMemoryTable {
  /// Returns the sum of `count` words. count is a multiple of 64.
  uint64_t (*sum)(const uint64_t* words, int64_t count);
};
LH_PER_ISA(ReadMemoryTable, kReadMemory)

}  // namespace longhaul
