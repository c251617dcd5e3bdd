#pragma once
// The code books of the IQ types (ops/matmul/iq_grids.h) in the format that device code reads, with
// one 32-bit word per entry. An entry of IQ1 or IQ2 consists of eight level numbers of four bits
// each, the first in the low bits. An entry of IQ3 is four magnitudes of one byte each.

#include <cstdint>
#include <vector>

#include "base/dtype.h"

namespace longhaul::cuda {

/// Returns the entries of the type's code book. Returns an empty array if the type has none.
std::vector<uint32_t> code_book(DType type);

}  // namespace longhaul::cuda
