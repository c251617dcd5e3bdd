#pragma once
// Computes column sums of the softmax map of a completed attention. They are the probabilities that
// each key received from a block of query rows. The keys are read a second time, with the known
// softmax denominators, and the map itself is never stored. In the formulas, r runs over the rows
// that see key j, and h over the query heads that share a KV head:
//
//   p[r, h, j] = exp(scale * q[r, h] . k[j] - lse[r, h])
//   sums[j]    += sum over r of sum over h of p[r, h, j]
//   squares[j] += sum over r of (sum over h of p[r, h, j])^2

#include <span>

#include "ops/attention/attention.h"

namespace longhaul {

/// The destinations of the sums of one task. Keys are numbered consecutively over all segments of
/// the task.
struct ColumnTarget {
  View<float> sums;     ///< [keys], or [head_count, keys] with `per_head`
  View<float> squares;  ///< same shape as `sums`; may be empty
  /// True: one list per query head; false: one list for all heads of the task.
  bool per_head = false;
};

/// Adds the column sums of tasks[i] to targets[i]. Reads `call.lse_in` [rows, heads], which
/// attend() wrote for these rows over all their visible keys. The tasks may contain fewer keys.
/// Does not use `call.out`. Targets must not overlap. Rows with lse = -infinity add nothing. Sums
/// are f32, and the result does not depend on the number of threads.
void column_sums(const AttendCall& call, std::span<const AttendTask> tasks,
                 std::span<const ColumnTarget> targets);
inline const DeviceOperation<bool(const AttendCall&, std::span<const AttendTask>,
                                  std::span<const ColumnTarget>)>
    kColumnSums;

}  // namespace longhaul
