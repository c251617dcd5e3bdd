#pragma once
// Computes the attention that a plan describes (See in attention/plan.h). A row sees either all
// rows that its list keeps, or the first rows (sinks) and a window. Keys are at absolute or at
// cache positions. A list holds the stored rows of one KV head (attention/plan.h).

#include <span>

#include "attention/step.h"
#include "ops/maps/column_sums.h"

namespace longhaul {

/// Stores the step's keys and values in the form that MethodPlan::place requires: keys rotated to
/// their absolute positions, or raw. A layer may have several lists per KV head. Each KV head then
/// writes the same rows to all its lists, which are adjacent.
void append_keys(LayerStep& step);

/// Computes the attention of all rows by step.plans, for the KV heads that LayerStep::only selects.
/// The inputs remain in the workspace (`attended`), for add_attention() below.
void attend_by_plan(LayerStep& step);

/// Selects the part of a step's attention that add_attention() recomputes.
struct Observation {
  int64_t rows = kNoBound;  ///< number of first rows of each list that are observed
  /// Number of last rows that are observed for each query row, including the row itself; 0: all
  /// rows.
  int64_t window = 0;
  /// Whether probabilities are normalised over the observed rows alone, instead of all rows that
  /// the query row attended to.
  bool alone = false;
};

/// Adds to targets[list] the attention probability that each row of the list received from the
/// step's rows. Call it after attend_by_plan() has filled step.lse. A list whose target is empty is
/// skipped.
void add_attention(LayerStep& step, const Observation& what, std::span<const ColumnTarget> targets);

/// Adds to sums[i] the attention probability that row i received, summed over all lists, for the
/// first sums.size() rows. It is for methods that score tokens, not rows of single heads. `scratch`
/// is memory for reuse.
void add_attention_to_tokens(LayerStep& step, View<float> sums, bool alone, Array<float>& scratch);

}  // namespace longhaul
