// CPU kernels of KeyDiff: sums of the directions of stored keys, and dot products of stored keys
// and a vector.

#include "attention/methods/keydiff/key_difference_kernels.h"
#include "ops/attention/key_rows.h"

namespace longhaul::LH_ISA {
namespace {

void add_directions(const PagedRows& rows, int64_t begin, int64_t count, double* sum,
                    float* lengths) {
  const StoredRows keys = keys_of(rows);
  const int dim = rows.head_dim;
  float row[kMostHeadDim];
  for (int64_t i = 0; i < count; ++i) {
    load_row(keys, keys.at(begin + i), row);
    lengths[i] = __builtin_sqrtf(dot(row, row, dim));
    const double inverse = lengths[i] > 1e-12f ? 1.0 / double{lengths[i]} : 1e12;
    for (int t = 0; t < dim; ++t) sum[t] += double{row[t]} * inverse;
  }
}

void products(const PagedRows& rows, int64_t begin, int64_t count, const float* vector,
              float* products) {
  const StoredRows keys = keys_of(rows);
  float row[kMostHeadDim];
  for (int64_t i = 0; i < count; ++i) {
    load_row(keys, keys.at(begin + i), row);
    products[i] = dot(row, vector, rows.head_dim);
  }
}

}  // namespace

extern const KeyDifferenceKernels kKeyDifferenceKernels = {add_directions, products};

}  // namespace longhaul::LH_ISA
