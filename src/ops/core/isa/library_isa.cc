#include "ops/core/isa/library_isa.h"

#include <dnnl.hpp>

#include "ops/core/isa/isa.h"

namespace longhaul {
namespace {

dnnl::cpu_isa library_isa(Isa isa) {
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
  return dnnl::cpu_isa::all;
}

}  // namespace

void limit_library_isa() {
  [[maybe_unused]] static const bool done = [] {
    dnnl::set_max_cpu_isa(library_isa(current_isa()));
    return true;
  }();
}

}  // namespace longhaul
