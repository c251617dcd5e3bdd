#include "ops/core/isa/isa.h"

#include <array>
#include <atomic>

#include "base/error.h"

#if defined(__x86_64__) && !defined(LH_GENERIC_ONLY)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace longhaul {
namespace {

constexpr std::array<std::string_view, kIsaCount> kIsaNames = {"generic", "avx2", "avx512",
                                                               "avx512_bf16", "amx"};

#if defined(__x86_64__) && !defined(LH_GENERIC_ONLY)
/// Linux enables the 8 KiB of tile registers only for processes that request them.
bool request_amx_tiles() {
  constexpr long kArchReqXcompPerm = 0x1023;
  constexpr long kXfeatureXtiledata = 18;
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureXtiledata) == 0;
}

bool cpu_has_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24, kInt8 = 1u << 25;
  return (d & kBf16) != 0 && (d & kTile) != 0 && (d & kInt8) != 0;
}

Isa detect() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi2")) {
    return Isa::kGeneric;
  }
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vbmi");
  if (!avx512) return Isa::kAvx2;
  if (!__builtin_cpu_supports("avx512bf16")) return Isa::kAvx512;
  return cpu_has_amx() && request_amx_tiles() ? Isa::kAmx : Isa::kAvx512Bf16;
}
#else
Isa detect() { return Isa::kGeneric; }
#endif

std::atomic<Isa>& selected() {
  static std::atomic<Isa> isa{best_isa()};
  return isa;
}

}  // namespace

std::string_view name_of(Isa isa) { return kIsaNames[static_cast<size_t>(isa)]; }

std::optional<Isa> isa_from_name(std::string_view name) {
  for (int i = 0; i < kIsaCount; ++i) {
    if (kIsaNames[static_cast<size_t>(i)] == name) return static_cast<Isa>(i);
  }
  return std::nullopt;
}

Isa best_isa() {
  static const Isa best = detect();
  return best;
}

Isa current_isa() { return selected().load(std::memory_order_relaxed); }

void set_isa(Isa isa) {
  if (isa > best_isa()) {
    user_error("--isa {}: this CPU has at most {}", name_of(isa), name_of(best_isa()));
  }
  selected() = isa;
}

}  // namespace longhaul
