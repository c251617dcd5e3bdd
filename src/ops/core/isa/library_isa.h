#pragma once
// The instruction-set level of the GEMM library (oneDNN), which by default selects its own.

namespace longhaul {

/// Limits the library to the current level (current_isa). The library reads this setting once, so
/// call this before its first primitive; later calls have no effect.
void limit_library_isa();

}  // namespace longhaul
