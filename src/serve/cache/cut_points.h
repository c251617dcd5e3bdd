#pragma once
// Determines the lengths at which the prefill of a prompt is divided. The prefix cache takes
// snapshots at these lengths.

#include <cstdint>
#include <span>
#include <vector>

#include "attention/resume_rule.h"

namespace longhaul::serve {

/// Least number of rows that are prefilled after a resume point. Fewer than 9 rows would be
/// multiplied by other kernels than the rows of a full prefill. With at least this many rows, a
/// reply is bitwise equal to one without a cache.
inline constexpr int64_t kLeastPrefill = 16;
/// Number of tokens between two snapshots for methods that can resume only where one of their own
/// prefills ended (ResumeGroup::kGrid).
inline constexpr int64_t kGridTokens = 8192;

struct CutFacts {
  int64_t prompt = 0;       ///< number of tokens
  int64_t instruction = 0;  ///< number of tokens of the last user message and everything after it
  /// Prefix lengths that the client expects to send again (Job::checkpoints).
  std::span<const int64_t> checkpoints;
  int64_t grid = kGridTokens;
};

/// Returns the lengths at which the prefill of a prompt is divided, in ascending order, without the
/// end of the prompt. They depend only on the request, never on the contents of the cache.
std::vector<int64_t> cut_points(const ResumeRule& rule, const CutFacts& facts);

/// Returns the number of tokens between two snapshots of a method: `grid`, rounded up to a multiple
/// of the rule's unit.
int64_t grid_of(const ResumeRule& rule, int64_t grid);

}  // namespace longhaul::serve
