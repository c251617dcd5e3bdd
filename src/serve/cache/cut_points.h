#pragma once
// The places at which the prefill of a prompt is divided, so that the prefix cache gets snapshots
// there.

#include <cstdint>
#include <span>
#include <vector>

#include "attention/resume_rule.h"

namespace longhaul::serve {

/// Rows of a full prefill are computed by tiles; fewer than 9 rows are not. With this many rows
/// after the resumed ones, a reply is bit-identical to a cold one.
inline constexpr int64_t kLeastPrefill = 16;
/// Distance of the snapshots of methods that resume on a grid only.
inline constexpr int64_t kGridTokens = 8192;

struct CutFacts {
  int64_t prompt = 0;                    ///< its tokens
  int64_t instruction = 0;               ///< its last user message and everything after it
  std::span<const int64_t> checkpoints;  ///< Job::checkpoints
  int64_t grid = kGridTokens;
};

/// Ends of the prefills of a prompt that come before its end, ascending. They depend on the request
/// only, never on the contents of the cache.
std::vector<int64_t> cut_points(const ResumeRule& rule, const CutFacts& facts);

/// The multiple of the rule's unit by which grid methods are divided.
int64_t grid_of(const ResumeRule& rule, int64_t grid);

}  // namespace longhaul::serve
