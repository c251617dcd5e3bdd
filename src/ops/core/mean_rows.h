#pragma once

#include "base/array.h"

namespace longhaul {

/// out [width] = mean of x [rows, width], with width = out.size(), summed in the order of the rows.
void mean_rows(Queue& queue, View<const float> x, View<float> out);

}  // namespace longhaul
