#include "ops/core/isa/library_isa.h"

#include <dnnl.hpp>
#include <optional>

#include "ops/core/isa/isa.h"

namespace longhaul {
namespace {

/// Empty: all instructions that the CPU has.
std::optional<dnnl::cpu_isa> library_isa(Isa isa) {
#if !defined(__x86_64__)
  static_cast<void>(isa);  // the levels are those of x86-64
#else
  switch (isa) {
    case Isa::kGeneric:
      return dnnl::cpu_isa::sse41;
    case Isa::kAvx2:
      return dnnl::cpu_isa::avx2;
    case Isa::kAvx512:
      return dnnl::cpu_isa::avx512_core_vnni;
    case Isa::kAvx512Bf16:
      return dnnl::cpu_isa::avx512_core_bf16;
    case Isa::kAmx:
      break;
  }
#endif
  return std::nullopt;
}

}  // namespace

void limit_library_isa() {
  [[maybe_unused]] static const bool done = [] {
    if (const auto isa = library_isa(current_isa())) dnnl::set_max_cpu_isa(*isa);
    return true;
  }();
}

}  // namespace longhaul
