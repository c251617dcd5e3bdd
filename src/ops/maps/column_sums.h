#pragma once
// Computes column sums of the softmax map of a completed attention. A column sum is the probability
// that a key received from some query rows in total. The keys are read a second time, with the
// known softmax denominators. The softmax map (all probabilities) is never stored. In the formulas,
// r runs over the rows that see key j, and h over the query heads that share a KV head:
//
//   p[r, h, j] = exp(scale * q[r, h] . k[j] - lse[r, h])
//   sums[j]    += sum over r of sum over h of p[r, h, j]
//   squares[j] += sum over r of (sum over h of p[r, h, j])^2

#include <span>

#include "ops/attention/attention.h"

namespace longhaul {

/// The arrays that receive the sums of one task. Keys are numbered consecutively over all segments
/// of the task.
struct ColumnTarget {
  View<float> sums;     ///< [keys], or [head_count, keys] if `per_head` is true
  View<float> squares;  ///< same shape as `sums`; may be empty
  /// If true, the sums of each query head are separate. If false, they are added over all heads of
  /// the task.
  bool per_head = false;
};

/// Adds the column sums of tasks[i] to targets[i]. Reads `call.lse_in` [rows, heads], which
/// attend() must have written for these rows over all their visible keys. The tasks may contain
/// only some of these keys. Does not use `call.out`. Targets must not overlap. Rows with
/// lse = -infinity add nothing. Sums are f32, and the result does not depend on the number of
/// threads.
void column_sums(const AttendCall& call, std::span<const AttendTask> tasks,
                 std::span<const ColumnTarget> targets);
inline const DeviceOperation<bool(const AttendCall&, std::span<const AttendTask>,
                                  std::span<const ColumnTarget>)>
    kColumnSums;

}  // namespace longhaul
