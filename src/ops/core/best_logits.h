#pragma once
// Selects the largest logits of each row, because sampling needs no other logits. A row holds the
// logits of all tokens of the vocabulary at one position. If the logits are in device memory, the
// device selects them. Copying all logits to the host would be slow (33 MB for 64 rows of 128,256
// logits).

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
/// mask. Neither `repeated` nor `biases` may contain a token twice. Token ids outside [0, number of
/// logits in the row) are ignored.
struct LogitRules {
  /// Positive logits of the tokens in `repeated` are divided by this value, and negative ones are
  /// multiplied by it.
  float repeat_penalty = 1;
  std::span<const int32_t> repeated;  ///< tokens to which the penalty applies
  std::span<const LogitBias> biases;
  /// Bit i % 64 of word i / 64 is set if token i is allowed. Other tokens cannot be selected. An
  /// empty mask allows all tokens.
  std::span<const uint64_t> mask;
};

struct BestLogit {
  int32_t token = -1;  ///< -1 in the entries after the last candidate of a row
  float logit = -std::numeric_limits<float>::infinity();
};

struct LogitSums {
  float log_sum_exp = 0;   ///< log of the sum of exp(logit) over all candidates of the row
  int32_t not_finite = 0;  ///< number of logits that were NaN or infinite before the rules were
                           ///< applied
};

inline constexpr int kMostBestOfRow = 64;

/// Applies the repeat penalty and the biases of `rules` (but not the mask) to one row of logits, in
/// place.
void change_logits(const LogitRules& rules, std::span<float> row);

/// Writes the `most` largest candidates of a row to `candidates`, in any order. If `most` is 0,
/// writes all candidates in ascending order of their tokens. best_logits() below defines which
/// logits are candidates. Runs on the host.
void collect_candidates(std::span<const float> row, std::span<const uint64_t> mask, size_t most,
                        std::vector<BestLogit>& candidates);
/// Returns whether `a` precedes `b` in descending order: the logit of `a` is larger, or the logits
/// are equal and the token id of `a` is lower.
bool better(const BestLogit& a, const BestLogit& b);

/// Applies rules[r] to row r of logits [rows, n]. Then writes the `k` largest logits (1 to
/// kMostBestOfRow) of each row to best [rows, k], in descending order, and the LogitSums of each
/// row to sums [rows]. If two logits are equal, the one with the lower token id comes first. A
/// logit is no candidate if it is NaN or -infinity, or if the mask forbids its token. +infinity
/// counts as the largest finite number. The contents of `logits` do not change on the host, but may
/// change on a device.
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
