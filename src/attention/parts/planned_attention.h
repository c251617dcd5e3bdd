#pragma once
// Attention as described by plans: over all rows that are kept in a list, or over its sinks and a
// window. Keys stand at absolute or cache positions.

#include <span>

#include "attention/step.h"
#include "ops/maps/column_sums.h"

namespace longhaul {

/// Stores the step's keys and values as the plan of the lists says (See::place): rotated to their
/// absolute position, or raw. A layer may have a multiple of its KV heads as lists; each KV head
/// then writes to as many neighbouring lists.
void append_keys(LayerStep& step);

/// Attends all rows of the attending heads (LayerStep::only) by step.plans. The inputs stay in the
/// workspace (`attended`) for the observations below.
void attend_by_plan(LayerStep& step);

/// Selects the attention that is recomputed.
struct Observation {
  int64_t rows = kNoBound;  ///< first rows of each list that are observed
  int64_t window =
      0;  ///< above 0: only attention to this many preceding rows, and to the row itself
  bool alone = false;  ///< normalised over these rows instead of all attended rows
};

/// Adds to targets[list] the probability that the step's rows gave to the rows of each list. Call
/// after attend_by_plan() with step.lse. Lists without a target are skipped.
void add_attention(LayerStep& step, const Observation& what, std::span<const ColumnTarget> targets);

/// Variant for methods that score tokens instead of rows of one head. Adds to sums[i] the
/// probability received by row i, summed over all lists, for the first sums.size() rows. `scratch`
/// is reused.
void add_attention_to_tokens(LayerStep& step, View<float> sums, bool alone, Array<float>& scratch);

}  // namespace longhaul
