#pragma once

#include "base/array.h"

namespace longhaul {

/// out [width]: the mean of x [rows, width], width = out.size(), added up in the order of the rows.
void mean_rows(Queue& queue, View<const float> x, View<float> out);

}  // namespace longhaul
