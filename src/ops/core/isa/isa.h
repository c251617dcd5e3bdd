#pragma once
// Instruction-set levels of the CPU kernels. Kernel sources (*.isa.cc) are compiled once per level.
// Kernels run at the current level, which is the best level that this CPU supports or a lower one
// chosen by the user.

#include <optional>
#include <string_view>

namespace longhaul {

enum class Isa { kGeneric, kAvx2, kAvx512, kAvx512Bf16, kAmx };
inline constexpr int kIsaCount = 5;

std::string_view name_of(Isa isa);  ///< returns "generic", "avx2", ..., "amx"
std::optional<Isa> isa_from_name(std::string_view name);

/// Returns the best level that the CPU and the operating system support. To use AMX, the function
/// requests the tile state from Linux.
Isa best_isa();
Isa current_isa();  ///< returns the level at which kernels run
/// Sets the current level. Throws UserError if this CPU does not support it. It must be called
/// before any kernel runs, because the GEMM library fixes its own level at its first use.
void set_isa(Isa isa);

}  // namespace longhaul
