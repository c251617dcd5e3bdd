#pragma once
// The arguments that matvec.cc passes to the kernels of an instruction-set level.

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "ops/matmul/matvec.h"

namespace longhaul {

/// A range of weight rows and `x_rows` rows of activations. Block types read `groups`, or
/// `factored` if reads_factored() is true for the type. Plain types read `x`. The pointers point to
/// the first row of each.
struct MatvecRows {
  const uint8_t* weight;
  size_t row_bytes;
  int64_t rows, cols;
  int64_t x_rows;
  const float* x;                 // [x_rows, cols]
  const ActivationGroup* groups;  // [x_rows, groups_per_row]
  const FactoredGroup* factored;  // [x_rows, groups_per_row]
  int64_t groups_per_row;
  float* y;  // [x_rows, rows], rows y_stride apart
  int64_t y_stride;
  const float* bias;  // [rows] or null
};

struct MatvecTable {
  void (*run[kDTypeCount])(const MatvecRows&);  ///< the functions, by DType
  void (*quantize)(const float* x, int64_t cols, ActivationGroup* groups);
  /// Converts activations to FactoredGroups. The pointer is null if no type uses this form.
  void (*factor)(const float* x, int64_t groups, FactoredGroup* factored);
};

// Levels above avx512 would gain nothing: bf16 products would round x, and tiles need many rows.
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
