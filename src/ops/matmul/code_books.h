#pragma once
// The code books of the IQ types (ops/matmul/iq_grids.h) as device code reads them, a word an
// entry: of IQ1 and IQ2 the numbers of eight levels, a half byte each, the first in the low bits;
// of IQ3 four magnitudes, a byte each.

#include <cstdint>
#include <vector>

#include "base/dtype.h"

namespace longhaul::cuda {

/// Empty for types without one.
std::vector<uint32_t> code_book(DType type);

}  // namespace longhaul::cuda
