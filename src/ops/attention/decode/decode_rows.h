#pragma once
// Selects an instance of a decode kernel. There is one instance for each type of stored rows and
// each number of flat rows (queries of one head of one query row). Include this only in *.isa.cc
// files, which are compiled once per instruction set.

#include "ops/attention/attention_kernels.h"
#include "ops/attention/key_rows.h"

namespace longhaul::LH_ISA {

template <template <DType, int> class Kernel, DType T>
static inline auto pick_rows(int rows) -> decltype(&Kernel<T, 1>::run) {
  static_assert(kDecodeRows == 8);
  switch (rows) {
    case 1:
      return Kernel<T, 1>::run;
    case 2:
      return Kernel<T, 2>::run;
    case 3:
      return Kernel<T, 3>::run;
    case 4:
      return Kernel<T, 4>::run;
    case 5:
      return Kernel<T, 5>::run;
    case 6:
      return Kernel<T, 6>::run;
    case 7:
      return Kernel<T, 7>::run;
    default:
      return Kernel<T, 8>::run;
  }
}

/// Returns Kernel<type, rows>::run. `rows` is at most kDecodeRows, and `type` is a type of stored
/// keys.
template <template <DType, int> class Kernel>
static inline auto pick(DType type, int rows) -> decltype(&Kernel<DType::F32, 1>::run) {
  switch (type) {
    case DType::F32:
      return pick_rows<Kernel, DType::F32>(rows);
    case DType::F16:
      return pick_rows<Kernel, DType::F16>(rows);
    case DType::BF16:
      return pick_rows<Kernel, DType::BF16>(rows);
    case DType::Q8_0:
      return pick_rows<Kernel, DType::Q8_0>(rows);
    default:
      return pick_rows<Kernel, DType::Q4_0>(rows);
  }
}

}  // namespace longhaul::LH_ISA
