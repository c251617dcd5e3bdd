#pragma once
// The kernel of best keys for few rows (top_keys_few.isa.cc), as the table in top_keys.isa.cc names
// it. For *.isa.cc only.

#include "ops/maps/top_keys_kernels.h"

namespace longhaul::LH_ISA {

size_t top_keys_few_scratch_bytes(const HostCall& call);
void top_keys_few(const TopKeysUnit& unit, std::byte* scratch);

}  // namespace longhaul::LH_ISA
