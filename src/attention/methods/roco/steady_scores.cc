#include "attention/methods/roco/steady_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/on_device.h"
#include "ops/choose/score_threshold.h"

namespace longhaul {
namespace {

/// Returns an upper bound of the variance that rounding errors can cause for equal numbers, divided
/// by the square of their mean. A sum of n numbers in f32 has a relative error of at most n / 2
/// units of 2^-24. The error of the mean occurs twice in the variance, and the error of the mean
/// square once. Another 16 units allow for the sum over the heads, so that the variance of a row
/// that was seen only once counts as zero.
double rounding_share(float rows) { return (16 + 2 * double{rows}) * 0x1p-24; }

/// Returns minus the standard deviation of the attention that a stored row received.
float steadiness_of(float sum, float square, float seen) {
  const double mean = sum / seen;
  const double variance = square / seen - mean * mean;
  const bool steady = variance < rounding_share(seen) * mean * mean;
  return steady ? 0.0f : static_cast<float>(-std::sqrt(variance));
}

void add_seen(int64_t rows, std::span<float> seen) {
  LH_ASSERT(rows >= 0 && rows <= std::ssize(seen));
  const size_t before = seen.size() - static_cast<size_t>(rows);
  for (size_t i = 0; i < before; ++i) seen[i] += static_cast<float>(rows);
  for (size_t i = before; i < seen.size(); ++i) seen[i] += static_cast<float>(seen.size() - i);
}

void steady_scores(const SteadyList& list, Array<float>& scratch) {
  const auto& [got, rule, scores] = list;
  const int64_t rows = scores.size(), judged = rows - rule.sink - rule.settling;
  LH_ASSERT(rule.feasible >= 0 && rule.sink >= 0 && rule.settling >= 0 && judged >= 0);
  LH_ASSERT(got.sums.size() == rows && got.squares.size() == rows && got.seen.size() == rows);
  const std::span<const float> sums = host(got.sums.part(rule.sink, judged));
  const std::span<const float> squares = host(got.squares.part(rule.sink, judged));
  const std::span<const float> seen = host(got.seen.part(rule.sink, judged));
  const std::span<float> steadiness = host(scratch.resize(host_queue(), judged));
  const std::span<float> means = host(scores.part(rule.sink, judged));
  for (size_t i = 0; i < sums.size(); ++i) {
    steadiness[i] = ordered_score(steadiness_of(sums[i], squares[i], seen[i]));
  }
  std::copy(steadiness.begin(), steadiness.end(), means.begin());
  ScoreThreshold<float> threshold =
      threshold_reordering(means, rule.feasible);  // `scores` was scratch until here
  std::fill_n(host(scores).begin(), rows, std::numeric_limits<float>::infinity());
  for (size_t i = 0; i < sums.size(); ++i) {
    const float x = steadiness[i];
    if (x > threshold.score || (x == threshold.score && threshold.equal-- > 0))
      means[i] = sums[i] / seen[i];
  }
}

}  // namespace

void add_seen(Queue& queue, int64_t rows, std::span<const View<float>> columns) {
  if (on_device(kAddSeen, queue, rows, columns)) return;
  HostStage on(queue);
  for (const View<float>& column : columns) add_seen(rows, host(on(column)));
}

void steady_scores(Queue& queue, std::span<const SteadyList> lists, Array<float>& scratch) {
  if (on_device(kSteadyScores, queue, lists)) return;
  HostStage on(queue);
  for (const auto& [got, rule, scores] : lists) {
    const AttentionSoFar here{on(got.sums), on(got.squares), on(got.seen)};
    steady_scores({here, rule, on(scores)}, scratch);
  }
}

}  // namespace longhaul
