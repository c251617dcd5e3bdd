#pragma once
// The arguments that matvec.cc passes to the kernels of the instruction-set levels.

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "ops/matmul/matvec.h"

namespace longhaul {

/// A range of weight rows, and `x_rows` rows of activations. Kernels for types without blocks read
/// `x`. Kernels for block types read `factored` if reads_factored() is true for the type, and
/// otherwise `groups`. Each pointer points to the first row.
struct MatvecRows {
  const uint8_t* weight;
  size_t row_bytes;
  int64_t rows, cols;
  int64_t x_rows;
  const float* x;                 // [x_rows, cols]
  const ActivationGroup* groups;  // [x_rows, groups_per_row]
  const FactoredGroup* factored;  // [x_rows, groups_per_row]
  int64_t groups_per_row;
  float* y;  // [x_rows, rows]; rows begin y_stride floats apart
  int64_t y_stride;
  const float* bias;  // [rows] or null
};

struct MatvecTable {
  void (*run[kDTypeCount])(const MatvecRows&);  ///< the function for each DType
  void (*quantize)(const float* x, int64_t cols, ActivationGroup* groups);
  /// Converts activations to FactoredGroups. Null if no type reads them at this level.
  void (*factor)(const float* x, int64_t groups, FactoredGroup* factored);
};

// Levels above avx512 would gain nothing: products of bf16 would round x to bf16, and AMX tiles
// need many rows.
namespace generic {
extern const MatvecTable kMatvec;
}
namespace avx2 {
extern const MatvecTable kMatvec;
}
namespace avx512 {
extern const MatvecTable kMatvec;
}

}  // namespace longhaul
