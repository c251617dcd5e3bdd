#pragma once
// The code books of the IQ types (ops/matmul/iq_grids.h) as device code reads them, one word per
// entry. Entries of IQ1 and IQ2 are eight level numbers of four bits, the first in the low bits.
// Entries of IQ3 are four magnitudes of one byte each.

#include <cstdint>
#include <vector>

#include "base/dtype.h"

namespace longhaul::cuda {

/// Returns the entries of the type's code book, or nothing for types without one.
std::vector<uint32_t> code_book(DType type);

}  // namespace longhaul::cuda
