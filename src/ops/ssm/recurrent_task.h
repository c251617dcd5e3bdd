#pragma once
// RecurrentTask describes the rows of one sequence that a recurrent layer computes.

#include <cstdint>

#include "base/array.h"

namespace longhaul {

/// `rows` consecutive rows of one sequence, beginning with row `first` of the call. `before` is the
/// state of a layer before the first row, and `after` its state after the last row. Both may be the
/// same memory. A task may continue the sequence of an earlier task of the call. Its `before` is
/// then the `after` of that task.
struct RecurrentTask {
  int64_t first = 0, rows = 0;
  View<const float> before;
  View<float> after;
  bool lies_on(Place place) const { return before.place() == place && after.place() == place; }
};

}  // namespace longhaul
