#pragma once
// Declares the kernel that finds the best keys of decode rows. top_keys_decode.isa.cc defines it,
// and top_keys.isa.cc lists it in a table. Include this only in *.isa.cc files, which are compiled
// once per instruction set.

#include "ops/maps/top_keys_kernels.h"

namespace longhaul::LH_ISA {

size_t top_keys_decode_scratch_bytes(const HostCall& call);
void top_keys_decode(const TopKeysUnit& unit, std::byte* scratch);

}  // namespace longhaul::LH_ISA
