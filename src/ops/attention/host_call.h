#pragma once
// An attention call for host kernels. It has plain pointers instead of the views of AttendCall.
// host_call() converts an AttendCall and checks that its arrays are in host memory.

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/attention/attention.h"

namespace longhaul {

/// The query arrays of a call (AttendCall::queries). Methods use at most two arrays: one for the
/// keys in a sliding window and one for the keys before the window. The number of arrays is limited
/// so that this struct needs no allocated memory.
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
  const float* lse_in = nullptr;
};

/// Selects which arrays, in addition to the queries, host_call() checks.
struct CallArrays {
  bool out = false, lse = false, lse_in = false;
};

/// Converts the call. Asserts that its queue and arrays are on the host and that the queries and
/// each selected array have `rows` rows.
HostCall host_call(const AttendCall& call, int64_t rows, CallArrays used);

/// Returns the number of rows that the call's arrays need for the tasks: the largest row number of
/// any task plus one.
int64_t rows_of(std::span<const AttendTask> tasks);

/// Asserts that a segment satisfies the conditions on which every kernel relies.
void check_segment(const AttendCall& call, const KeySegment& segment);

}  // namespace longhaul
