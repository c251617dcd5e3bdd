#pragma once
// Rows that see everything, in methods that keep everything.

#include "attention/step.h"

namespace longhaul {

/// Attends the first `rows` rows of the step to all keys up to themselves, within the model's own
/// window, whatever the plan says. Only heads that attend (LayerStep::only).
void attend_dense_rows(LayerStep& step, int rows);

}  // namespace longhaul
