#pragma once
// An attention call as the host's kernels read it: plain pointers, taken from the views of an
// AttendCall once it is known that they are host memory.

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/attention/attention.h"

namespace longhaul {

/// The forms of the queries. Two is what any method multiplies (a window and what lies beyond it);
/// their number is bounded so that a call allocates nothing.
struct QueryForms {
  static constexpr size_t kMost = 4;

  const float* forms[kMost] = {};  ///< each [rows, heads, head_dim]
  size_t count = 0;

  size_t size() const { return count; }
  const float* operator[](size_t i) const { return forms[i]; }
  const float* const* begin() const { return forms; }
  const float* const* end() const { return forms + count; }
};

struct HostCall {
  QueryForms queries;
  int heads = 0;
  int head_dim = 0;
  float scale = 0;
  float cap = 0;
  const float* sinks = nullptr;  ///< may be null
  const Rotations* rotations = nullptr;
  AttendCompute compute = AttendCompute::kBest;
  float* out = nullptr;
  float* lse = nullptr;  ///< may be null
  const float* known_lse = nullptr;
};

/// Which arrays of a call an operation uses besides its queries.
struct CallArrays {
  bool out = false, lse = false, known_lse = false;
};

/// Checks that the call's queue and arrays are the host's, and that the arrays that are used hold
/// `rows` rows.
HostCall host_call(const AttendCall& call, int64_t rows, CallArrays used);

/// Rows of a call's arrays that tasks reach: one past the last.
int64_t rows_of(std::span<const AttendTask> tasks);

/// What every kernel takes for granted of a segment of a call.
void check_segment(const AttendCall& call, const KeySegment& segment);

}  // namespace longhaul
