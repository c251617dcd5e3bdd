#pragma once
// Computes column sums of the softmax map of a completed attention, which are the probabilities
// that every key received from a block of query rows. This takes a second pass over the keys with
// the known softmax denominators. The map itself is never stored. In these formulas r are the rows
// that see key j, and h are the heads of a list:
//
//   p[r, h, j] = exp(scale * q[r, h] . k[j] - lse[r, h])
//   sums[j]    += sum over r of sum over h of p[r, h, j]
//   squares[j] += sum over r of (sum over h of p[r, h, j])^2

#include <span>

#include "ops/attention/attention.h"

namespace longhaul {

/// Targets of the sums of one task. Keys are numbered consecutively over all segments of the task.
struct ColumnTarget {
  View<float> sums;       ///< [keys], or [head_count, keys] with `per_head`
  View<float> squares;    ///< shape of sums; may be empty
  bool per_head = false;  ///< one list per query head instead of one for the task's heads
};

/// Adds the columns of tasks[i] to targets[i]. Reads `call.lse_in` [rows, heads], which attend()
/// wrote for these rows over all visible keys, possibly more than those in the tasks. `call.out` is
/// not used. Targets must not overlap. Rows with lse = -infinity add nothing. Accumulates in f32;
/// the result does not depend on the number of threads.
void column_sums(const AttendCall& call, std::span<const AttendTask> tasks,
                 std::span<const ColumnTarget> targets);
inline const DeviceOperation<bool(const AttendCall&, std::span<const AttendTask>,
                                  std::span<const ColumnTarget>)>
    kColumnSums;

}  // namespace longhaul
