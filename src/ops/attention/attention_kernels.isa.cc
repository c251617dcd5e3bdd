#include "ops/attention/attention_kernels.h"

#include "ops/attention/attend_kernels.h"

namespace longhaul::LH_ISA {

extern const AttentionKernels kAttentionKernels = {tile_scratch_bytes, attend_tile,
                                                   decode_scratch_bytes, attend_decode};

}  // namespace longhaul::LH_ISA
