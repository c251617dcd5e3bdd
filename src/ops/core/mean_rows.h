#pragma once

#include "base/array.h"

namespace longhaul {

/// Writes the mean of x [rows, width] over its rows to out [width], where width = out.size(). Rows
/// are added in ascending order.
void mean_rows(Queue& queue, View<const float> x, View<float> out);
inline const DeviceOperation<bool(View<const float>, View<float>)> kMeanRows;

}  // namespace longhaul
