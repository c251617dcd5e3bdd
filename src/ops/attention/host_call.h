#pragma once
// An attention call in the format of host kernels. It has plain pointers, taken from the views of
// an AttendCall after a check that they are in host memory.

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/attention/attention.h"

namespace longhaul {

/// The query forms. Methods use at most two (for a window and for keys beyond it). Their number is
/// bounded so that a call allocates no memory.
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

/// Selects the arrays of a call that an operation uses besides its queries.
struct CallArrays {
  bool out = false, lse = false, lse_in = false;
};

/// Checks that the call's queue and arrays are on the host, and that the used arrays hold `rows`
/// rows.
HostCall host_call(const AttendCall& call, int64_t rows, CallArrays used);

/// Returns the end of the rows that the tasks use in a call's arrays.
int64_t rows_of(std::span<const AttendTask> tasks);

/// Asserts the conditions that every kernel relies on for a segment of a call.
void check_segment(const AttendCall& call, const KeySegment& segment);

}  // namespace longhaul
