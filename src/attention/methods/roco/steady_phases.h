#pragma once
// Computes RoCo's scores of the rows of a list (attention/methods/roco/steady_scores.h), in one
// thread block. The code consists of phases between barriers (ops/core/gpu/block.h).

#include <cmath>

#include "ops/choose/threshold_phases.h"

namespace longhaul::cuda {

struct SteadyTask {
  const float *sums, *squares, *seen;  ///< [rows] each, as in AttentionSoFar
  float* scores;                       ///< [rows]
  int64_t rows, sink, settling, feasible;
};

LH_BOTH double square_of(double x) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(x, x);  // rounds the product separately (no fma), as the host code does
#else
  return x * x;
#endif
}

/// Returns minus the standard deviation of the attention that a row received from single query
/// rows. A variance that is so small that it may consist of rounding errors counts as zero
/// (attention/methods/roco/steady_scores.cc).
LH_BOTH float steadiness_of(float sum, float square, float seen) {
  const double mean = static_cast<double>(sum / seen);
  const double variance = static_cast<double>(square / seen) - square_of(mean);
  const double rounding = (16 + 2 * static_cast<double>(seen)) * 0x1p-24;
  return variance < rounding * mean * mean ? 0.0f : static_cast<float>(-sqrt(variance));
}

template <class Block>
LH_PHASES void steady_scores(const Block& block, SelectShared& s, const SteadyTask& task) {
  const int64_t judged = task.rows - task.sink - task.settling;
  float* const scores = task.scores + task.sink;
  const float *const sums = task.sums + task.sink, *const seen = task.seen + task.sink;
  const float* const squares = task.squares + task.sink;
  block.each([&](int t) {
    for (int64_t i = t; i < judged; i += kBlockThreads) {
      scores[i] =
          // Scratch until the threshold has been found.
          steadiness_of(sums[i], squares[i], seen[i]);
    }
  });
  const KeyThreshold best = find_threshold(block, s, judged, task.feasible,
                                           [&](int64_t i) { return order_key(scores[i]); });
  block.each([&](int t) {
    constexpr float kLeftAlone = INFINITY;
    for (int64_t i = t; i < task.rows; i += kBlockThreads) {
      const int64_t at = i - task.sink;
      const bool taken = at >= 0 && at < judged && best.holds(order_key(scores[at]), at);
      task.scores[i] = taken ? sums[at] / seen[at] : kLeftAlone;
    }
  });
}

}  // namespace longhaul::cuda
