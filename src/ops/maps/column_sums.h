#pragma once
// Column sums of the softmax map of an attention that has run: how much probability every key got
// from a block of query rows. A second pass over the keys with the known softmax denominators; the
// map itself is never stored. Over the rows r that see key j, and the heads h of a list,
//
//   p[r, h, j] = exp(scale * q[r, h] . k[j] - lse[r, h])
//   sums[j]    += sum over r of sum over h of p[r, h, j]
//   squares[j] += sum over r of (sum over h of p[r, h, j])^2

#include <span>

#include "ops/attention/attention.h"

namespace longhaul {

/// Where the sums of one task go. Keys count through the task's segments laid end to end.
struct ColumnTarget {
  View<float> sums;       ///< [keys], or [head_count, keys] with `per_head`
  View<float> squares;    ///< as sums; may be empty
  bool per_head = false;  ///< a list for every query head instead of one for the task's heads
};

/// Adds to targets[i] the columns of tasks[i]. `call.known_lse` [rows, heads] is read: what
/// attend() wrote for these rows over all keys that they saw, which may be more than the tasks
/// name; `call.out` is not used. Targets must not overlap. Rows with lse = -infinity add nothing.
/// Accumulates in f32; the result does not depend on the number of threads.
void column_sums(const AttendCall& call, std::span<const AttendTask> tasks,
                 std::span<const ColumnTarget> targets);

}  // namespace longhaul
