#pragma once
// Defines the names of block types (BlocksQ4_0 and so on) for levels without intrinsics, where
// plain loops unpack the blocks.

#include "ops/matmul/small_blocks.h"
#include "ops/matmul/weight_blocks.h"

namespace longhaul::LH_ISA {
namespace {

using BlocksQ4_0 = Q4_0;
using BlocksQ4_1 = Q4_1;
using BlocksQ5_0 = Q5_0;
using BlocksQ5_1 = Q5_1;
using BlocksQ8_0 = Q8_0;
using BlocksIQ4_NL = IQ4_NL;
using BlocksIQ4_XS = IQ4_XS;
using BlocksMXFP4 = Unpacked<MXFP4>;
template <class Type>
using KBlocks = Type;

}  // namespace
}  // namespace longhaul::LH_ISA
