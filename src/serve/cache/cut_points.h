#pragma once
// Determines the cut points of a prompt. A cut point is a number of tokens at which the prefill is
// interrupted, so that the prefix cache can take a snapshot there.

#include <cstdint>
#include <span>
#include <vector>

#include "attention/resume_rule.h"

namespace longhaul::serve {

/// The least number of tokens that are prefilled after a resume point, the position at which a
/// prompt continues from a snapshot. A prefill of fewer than 9 tokens uses other matrix
/// multiplication kernels than a longer one. With at least kLeastPrefill tokens, a reply is bitwise
/// equal to one without a cache.
inline constexpr int64_t kLeastPrefill = 16;
/// The number of tokens between two snapshots for attention methods that can resume only where one
/// of their own prefills ended (ResumeGroup::kGrid).
inline constexpr int64_t kGridTokens = 8192;

struct CutFacts {
  int64_t prompt = 0;  ///< number of tokens
  /// Number of tokens from the last user message to the end of the prompt.
  int64_t instruction = 0;
  /// Lengths of prefixes that the client expects to send again (Job::checkpoints).
  std::span<const int64_t> checkpoints;
  int64_t grid = kGridTokens;
};

/// Returns the cut points of a prompt in ascending order. The end of the prompt is not one of them.
/// The cut points depend only on the request, never on the contents of the cache.
std::vector<int64_t> cut_points(const ResumeRule& rule, const CutFacts& facts);

/// Returns the number of tokens between two snapshots for a method with this rule: `grid`, rounded
/// up to a multiple of `rule.unit`.
int64_t grid_of(const ResumeRule& rule, int64_t grid);

}  // namespace longhaul::serve
