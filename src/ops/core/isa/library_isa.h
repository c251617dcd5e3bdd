#pragma once
// Sets the instruction-set level of the GEMM library (oneDNN), which otherwise selects its own.

namespace longhaul {

/// Limits oneDNN to the current level (current_isa). oneDNN reads this setting once. This function
/// must therefore be called before the first oneDNN primitive, and later calls have no effect.
void limit_library_isa();

}  // namespace longhaul
