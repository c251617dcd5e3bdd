// Kernels of ops/matmul/matvec.h: block_dots for the block types, plain_dots for f32, f16 and bf16.

#include "ops/matmul/matvec_kernels.h"

#if !defined(LH_ISA_avx512_bf16) && !defined(LH_ISA_amx)

#include "ops/matmul/block_dots.h"
#include "ops/matmul/plain_dots.h"
#include "ops/matmul/quantize_groups.h"

namespace longhaul::LH_ISA {

const MatvecTable kMatvec = {.run = {plain_rows<F32Weights>,
                                     plain_rows<F16Weights>,
                                     plain_rows<BF16Weights>,
                                     block_rows<BlocksQ4_0>,
                                     block_rows<BlocksQ4_1>,
                                     block_rows<BlocksQ5_0>,
                                     block_rows<BlocksQ5_1>,
                                     block_rows<BlocksQ8_0>,
                                     k_rows<Q3_K>,
                                     k_rows<Q4_K>,
                                     k_rows<Q5_K>,
                                     k_rows<Q6_K>,
                                     block_rows<BlocksIQ4_NL>,
                                     block_rows<BlocksIQ4_XS>,
                                     k_rows<Q2_K>,
                                     small_rows<IQ1_S>,
                                     small_rows<IQ1_M>,
                                     small_rows<IQ2_XXS>,
                                     small_rows<IQ2_XS>,
                                     small_rows<IQ2_S>,
                                     small_rows<IQ3_XXS>,
                                     small_rows<IQ3_S>,
                                     small_rows<TQ1_0>,
                                     small_rows<TQ2_0>,
                                     block_rows<BlocksMXFP4>,
                                     unpacked_rows<NVFP4>},
                             .quantize = quantize_groups,
                             .factor = kFactor};

}  // namespace longhaul::LH_ISA

#endif
