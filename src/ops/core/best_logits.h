#pragma once
// The best logits of rows, which sampling needs, without the other logits. A device computes them,
// so that the rows of many sequences (33 MB for 64 rows of 128,256 logits) are not copied to the
// host.

#include <cstdint>
#include <limits>
#include <span>

#include "base/array.h"

namespace longhaul {

struct LogitBias {
  int32_t token = 0;
  float add = 0;
};

/// Changes of one row of logits, in this order. Spans must not name a token twice. Tokens outside
/// the row are ignored.
struct LogitRules {
  float repeat_penalty = 1;           ///< divides positive logits, multiplies the others ...
  std::span<const int32_t> repeated;  ///< ... of these tokens
  std::span<const LogitBias> biases;
  /// Bit i % 64 of word i / 64 allows token i. Empty: all are allowed.
  std::span<const uint64_t> mask;
};

struct BestLogit {
  int32_t token = -1;  ///< -1: the row has no more candidates
  float logit = -std::numeric_limits<float>::infinity();
};

struct LogitSums {
  float log_sum_exp = 0;   ///< over all candidates
  int32_t not_finite = 0;  ///< NaN and infinite logits, before the changes
};

inline constexpr int kMostBestOfRow = 64;

/// Writes the best `k` (1 to kMostBestOfRow) logits of each of rules.size() rows of `logits` [rows,
/// n] to best [rows, k], best first. Of equal logits the lower token comes first. NaN, -infinity
/// and tokens that the mask forbids are no candidates; +infinity counts as the largest finite
/// number. A device may change the logits.
void best_logits(Queue& queue, View<float> logits, std::span<const LogitRules> rules, int k,
                 std::span<BestLogit> best, std::span<LogitSums> sums);
inline const DeviceOperation<bool(View<float> logits, std::span<const LogitRules>, int k,
                                  std::span<BestLogit>, std::span<LogitSums>)>
    kBestLogits;

}  // namespace longhaul
