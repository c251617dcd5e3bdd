#pragma once

#include "base/array.h"

namespace longhaul {

/// Writes the mean of x [rows, width] over the rows to out [width], with width = out.size(). Rows
/// are summed in order.
void mean_rows(Queue& queue, View<const float> x, View<float> out);
inline const DeviceOperation<bool(View<const float>, View<float>)> kMeanRows;

}  // namespace longhaul
