#pragma once
// Copies and multiplies columns of rows.

#include <cstdint>

#include "base/array.h"

namespace longhaul {

/// Some columns of rows. Row r begins r * stride values after the first row.
template <class T>
struct RowColumns {
  View<T> numbers;  ///< begins with the first column of the first row
  int64_t stride = 0;
  bool lies_on(Place place) const { return numbers.place() == place; }
};

/// Copies `count` columns of `rows` rows. `from` and `to` must not overlap.
void copy_row_columns(Queue& queue, const RowColumns<const float>& from,
                      const RowColumns<float>& to, int64_t rows, int64_t count);
inline const DeviceOperation<bool(const RowColumns<const float>&, const RowColumns<float>&, int64_t,
                                  int64_t)>
    kCopyRowColumns;

/// Multiplies each row of x [rows, factors] by `factors`, element by element.
void multiply_columns(Queue& queue, View<const float> factors, View<float> x);
inline const DeviceOperation<bool(View<const float> factors, View<float> x)> kMultiplyColumns;

}  // namespace longhaul
