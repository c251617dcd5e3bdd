#pragma once
// Selects the largest logits of each row, which are all that sampling needs. A device selects these
// logits itself. Otherwise all logits (33 MB for 64 rows of 128,256 logits) would be copied to the
// host.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/array.h"

namespace longhaul {

struct LogitBias {
  int32_t token = 0;
  float add = 0;
};

/// Changes to one row of logits. The repeat penalty is applied first, then the biases, then the
/// mask. A span must not contain a token twice. Tokens outside the row are ignored.
struct LogitRules {
  /// Positive logits of the tokens in `repeated` are divided by this value, and negative ones are
  /// multiplied by it.
  float repeat_penalty = 1;
  std::span<const int32_t> repeated;  ///< tokens to which the penalty applies
  std::span<const LogitBias> biases;
  /// Bit i % 64 of word i / 64 is set if token i is allowed. An empty mask allows all tokens.
  std::span<const uint64_t> mask;
};

struct BestLogit {
  int32_t token = -1;  ///< -1: the row has no further candidate
  float logit = -std::numeric_limits<float>::infinity();
};

struct LogitSums {
  float log_sum_exp = 0;   ///< log of the sum of exp(logit) over all candidates
  int32_t not_finite = 0;  ///< number of NaN and infinite logits before the changes
};

inline constexpr int kMostBestOfRow = 64;

/// Applies the penalty and the biases of `rules` to one row of logits.
void change_logits(const LogitRules& rules, std::span<float> row);

/// Writes the `most` largest candidates of a row to `candidates`, in any order; 0: all, in the
/// order of their tokens. best_logits() says which logits are candidates. Runs on the host.
void collect_candidates(std::span<const float> row, std::span<const uint64_t> mask, size_t most,
                        std::vector<BestLogit>& candidates);
/// Returns whether `a` comes before `b` in descending order.
bool better(const BestLogit& a, const BestLogit& b);

/// Writes the `k` largest logits (1 to kMostBestOfRow) of each row to best [rows, k], in descending
/// order. `logits` is [rows, n], and `rules` has one element per row. If two logits are equal, the
/// lower token id comes first. NaN, -infinity and tokens that the mask forbids are no candidates.
/// +infinity counts as the largest finite number. A device may change the contents of `logits`.
void best_logits(Queue& queue, View<float> logits, std::span<const LogitRules> rules, int k,
                 std::span<BestLogit> best, std::span<LogitSums> sums);
/// Begins best_logits(). If a device chooses the logits, this does not wait: `best` and `sums` are
/// written by end_best_logits() of the returned event, and must stay valid until then. Otherwise
/// they are written at once, and the result is 0.
uint64_t begin_best_logits(Queue& queue, View<float> logits, std::span<const LogitRules> rules,
                           int k, std::span<BestLogit> best, std::span<LogitSums> sums);
/// Ends all calls of begin_best_logits() before the event. Waits for the device if necessary.
void end_best_logits(Queue& queue, uint64_t event);
/// A device that implements kEndBestLogits may write `best` and `sums` there.
inline const DeviceOperation<bool(View<float> logits, std::span<const LogitRules>, int k,
                                  std::span<BestLogit>, std::span<LogitSums>)>
    kBestLogits;
inline const DeviceOperation<bool(uint64_t event)> kEndBestLogits;

}  // namespace longhaul
