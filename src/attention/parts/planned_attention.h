#pragma once
// Computes the attention that a method's struct See (attention/plan.h) describes. A query row sees
// either all stored rows of its list, or only the first rows (sinks) and a window of last rows. The
// position of a key is its absolute position in the context, or its index in the list. A list holds
// the stored rows of one KV head in one layer.

#include <span>

#include "attention/step.h"
#include "ops/maps/column_sums.h"

namespace longhaul {

/// Appends the step's keys and values to the lists of the layer. As MethodPlan::place requires,
/// keys are stored rotated to their absolute positions, or raw (not rotated). If the layer has
/// several lists per KV head, the rows of a KV head are appended to each of them.
void append_keys(LayerStep& step);

/// Computes the attention of all query rows as step.plans describe, for the KV heads that
/// LayerStep::only selects. The inputs of attention remain in Workspace::attended, where
/// add_attention() reads them.
void attend_by_plan(LayerStep& step);

/// Selects the stored rows that are observed, which means that add_attention() recomputes their
/// attention.
struct Observation {
  int64_t rows = kNoBound;  ///< only the first `rows` rows of each list are observed
  /// For each query row, only the last `window` rows up to the row itself are observed; 0: all
  /// rows.
  int64_t window = 0;
  /// Whether attention probabilities are normalised over the observed rows alone, instead of all
  /// rows that the query row attended to.
  bool alone = false;
};

/// Adds to targets[list] the attention probability that each stored row of the list received,
/// summed over the step's query rows and the query heads of the list. Call it after
/// attend_by_plan() has written step.lse. If a target is empty, its list is skipped.
void add_attention(LayerStep& step, const Observation& what, std::span<const ColumnTarget> targets);

/// Adds to sums[i] the attention probability that stored row i received, also summed over all lists
/// of the layer, for the first sums.size() rows. Methods that score tokens instead of rows of
/// single heads use it. `scratch` is reused memory.
void add_attention_to_tokens(LayerStep& step, View<float> sums, bool alone, Array<float>& scratch);

}  // namespace longhaul
