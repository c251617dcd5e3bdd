#pragma once
// Rotary frequencies stretched for contexts beyond the trained length (docs/methods/ntk.md).

#include <cstdint>

#include "ops/rope.h"

namespace longhaul {

/// Dynamic NTK scaling: base' = base * (factor * length / trained - (factor - 1))^(d / (d - 2))
/// when length > trained, d the rotary dimension; else the table as it is.
RopeTable ntk_rope(const RopeTable& rope, double factor, int64_t length, int64_t trained);

}  // namespace longhaul
