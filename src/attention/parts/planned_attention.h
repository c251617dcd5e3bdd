#pragma once
// Attention as plans say it: every row of a list that is kept, or sinks and a window of it, with
// keys at their place in the text or in the list.

#include <span>

#include "attention/step.h"
#include "ops/column_sums.h"

namespace longhaul {

/// Stores the step's keys and values as the plan of its lists says (See::place): rotated at their
/// position in the text, or raw. A layer may have a multiple of its KV heads as lists: each KV head
/// then feeds as many neighbouring ones.
void append_keys(LayerStep& step);

/// Attends all rows that attend (LayerStep::only), by step.plans. What it was computed from stays
/// in the workspace (`attended`) for the observations below.
void attend_by_plan(LayerStep& step);

/// Which attention is looked at again.
struct Observation {
  int64_t rows = kNoBound;  ///< of each list, from the first on
  int64_t window =
      0;  ///< above 0: only what rows pay to that many rows before them, and themselves
  bool alone = false;  ///< normalised over those rows, not over all that were attended
};

/// Adds to targets[list] the probability that the step's rows gave to the rows of each list, after
/// attend_by_plan() with step.lse. Lists without a target are left out.
void add_attention(LayerStep& step, const Observation& what, std::span<const ColumnTarget> targets);

/// The same for methods that judge tokens, not rows of one head: adds to sums[i] what row i of all
/// lists together got, for the first sums.size() rows. `scratch` is reused.
void add_attention_to_tokens(LayerStep& step, View<float> sums, bool alone, Array<float>& scratch);

}  // namespace longhaul
