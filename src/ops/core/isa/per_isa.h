#pragma once
// Declares tables of kernels that exist once per instruction-set level. LH_PER_ISA(Table, kName)
// declares a constant kName of type Table in the namespace of each level. A *.isa.cc defines it.
// kName_for(isa) returns the constant of a level.

#include "ops/core/isa/isa.h"

#define LH_PER_ISA(Table, name)             \
  namespace generic {                       \
  extern const Table name;                  \
  }                                         \
  namespace avx2 {                          \
  extern const Table name;                  \
  }                                         \
  namespace avx512 {                        \
  extern const Table name;                  \
  }                                         \
  namespace avx512_bf16 {                   \
  extern const Table name;                  \
  }                                         \
  namespace amx {                           \
  extern const Table name;                  \
  }                                         \
  inline const Table& name##_for(Isa isa) { \
    switch (isa) {                          \
      case Isa::kAvx2:                      \
        return avx2::name;                  \
      case Isa::kAvx512:                    \
        return avx512::name;                \
      case Isa::kAvx512Bf16:                \
        return avx512_bf16::name;           \
      case Isa::kAmx:                       \
        return amx::name;                   \
      case Isa::kGeneric:                   \
        break;                              \
    }                                       \
    return generic::name;                   \
  }

#ifdef LH_GENERIC_ONLY  // this build has only the generic level (cmake/Isa.cmake)
#undef LH_PER_ISA
#define LH_PER_ISA(Table, name) \
  namespace generic {           \
  extern const Table name;      \
  }                             \
  inline const Table& name##_for(Isa) { return generic::name; }
#endif
