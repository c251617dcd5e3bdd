#pragma once
// The kernel that finds the best keys of decode rows (top_keys_decode.isa.cc). It is listed in the
// table of top_keys.isa.cc. For *.isa.cc only.

#include "ops/maps/top_keys_kernels.h"

namespace longhaul::LH_ISA {

size_t top_keys_decode_scratch_bytes(const HostCall& call);
void top_keys_decode(const TopKeysUnit& unit, std::byte* scratch);

}  // namespace longhaul::LH_ISA
