#pragma once
// Instruction-set levels. Kernel sources (*.isa.cc) are compiled once per level; the level in force
// is the best that this CPU has, or a lower one that the user asked for.

#include <optional>
#include <string_view>

namespace longhaul {

enum class Isa { kGeneric, kAvx2, kAvx512, kAvx512Bf16, kAmx };
inline constexpr int kIsaCount = 5;

std::string_view name_of(Isa isa);  ///< "generic", "avx2", ..., "amx"
std::optional<Isa> isa_from_name(std::string_view name);

Isa best_isa();     ///< what this CPU and kernel allow (asks Linux for the AMX tile state)
Isa current_isa();  ///< what kernels run with now
/// Throws UserError when this CPU lacks it. Set before any kernel runs: the GEMM library fixes its
/// own level at first use.
void set_isa(Isa isa);

}  // namespace longhaul
