#pragma once
// Operations on a range of columns of a row-major array, and on each column of an array.

#include <cstdint>

#include "base/array.h"

namespace longhaul {

/// A range of columns of a row-major array. Row r of the range begins at numbers[r * stride].
template <class T>
struct RowColumns {
  View<T> numbers;  ///< begins at row 0, in the first column of the range
  int64_t stride = 0;
  bool lies_on(Place place) const { return numbers.place() == place; }
};

/// Copies `count` columns of `rows` rows from `from` to `to`. The two must not overlap.
void copy_row_columns(Queue& queue, const RowColumns<const float>& from,
                      const RowColumns<float>& to, int64_t rows, int64_t count);
inline const DeviceOperation<bool(const RowColumns<const float>&, const RowColumns<float>&, int64_t,
                                  int64_t)>
    kCopyRowColumns;

/// Multiplies x[r, i] by factors[i], for each row r of x [rows, factors.size()].
void multiply_columns(Queue& queue, View<const float> factors, View<float> x);
inline const DeviceOperation<bool(View<const float> factors, View<float> x)> kMultiplyColumns;

}  // namespace longhaul
