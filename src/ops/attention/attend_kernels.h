#pragma once
// The two attention kernels (prefill and decode) of an instruction-set level. They are defined in
// attend_tile.isa.cc and attend_decode.isa.cc and listed in the table of attention_kernels.isa.cc.
// For *.isa.cc only.

#include "ops/attention/attention_kernels.h"

namespace longhaul::LH_ISA {

size_t tile_scratch_bytes(const HostCall& call, int flat_rows);
void attend_tile(const AttendUnit& unit, std::byte* scratch);

size_t decode_scratch_bytes(const HostCall& call);
void attend_decode(const AttendUnit& unit, std::byte* scratch);

}  // namespace longhaul::LH_ISA
