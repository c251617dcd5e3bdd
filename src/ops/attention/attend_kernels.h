#pragma once
// Declares the attention kernels for prefill (attend_tile) and decode (attend_decode) of one
// instruction-set level. attend_tile.isa.cc and attend_decode.isa.cc define them.
// attention_kernels.isa.cc lists them in a table. Include this only in *.isa.cc files, which are
// compiled once per instruction set.

#include "ops/attention/attention_kernels.h"

namespace longhaul::LH_ISA {

size_t tile_scratch_bytes(const HostCall& call, int flat_rows);
void attend_tile(const AttendUnit& unit, std::byte* scratch);

size_t decode_scratch_bytes(const HostCall& call);
void attend_decode(const AttendUnit& unit, std::byte* scratch);

}  // namespace longhaul::LH_ISA
