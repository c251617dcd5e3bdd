#pragma once
// What matvec.cc hands to the kernels of one instruction-set level.

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "ops/matmul/matvec.h"

namespace longhaul {

/// A run of weight rows against `x_rows` rows of activations; the block types read `groups` or,
/// where reads_factored(), `factored`, the plain ones `x`. The pointers stand at the first row of
/// each.
struct MatvecRows {
  const uint8_t* weight;
  size_t row_bytes;
  int64_t rows, cols;
  int64_t x_rows;
  const float* x;                 // [x_rows, cols]
  const ActivationGroup* groups;  // [x_rows, groups_per_row]
  const FactoredGroup* factored;  // the same
  int64_t groups_per_row;
  float* y;  // [x_rows, rows], rows y_stride apart
  int64_t y_stride;
  const float* bias;  // [rows] or null
};

struct MatvecTable {
  void (*run[kDTypeCount])(const MatvecRows&);  ///< by DType
  void (*quantize)(const float* x, int64_t cols, ActivationGroup* groups);
  /// Null where nothing reads them.
  void (*factor)(const float* x, int64_t groups, FactoredGroup* factored);
};

// The levels above avx512 have nothing to add here: bf16 products would round x, tiles want many
// rows.
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
