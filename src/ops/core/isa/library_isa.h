#pragma once
// The instruction sets of the GEMM library (oneDNN), which picks its own unless it is told.

namespace longhaul {

/// Keeps the library at the level in force (current_isa). The library reads this once: call it
/// before its first primitive; later calls change nothing.
void limit_library_isa();

}  // namespace longhaul
