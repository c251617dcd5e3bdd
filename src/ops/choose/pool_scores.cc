#include "ops/choose/pool_scores.h"

#include <algorithm>

#include "base/on_device.h"

namespace longhaul {
namespace {

/// Number of positions processed together, so that the compiler vectorises. Their results fit into
/// the L1 cache.
constexpr int64_t kTogether = 256;

float larger(float best, float x) { return best < x ? x : best; }

/// out[i] for i in [0, count) from neighbours from[i] to from[i + width - 1], in that order.
template <Pooling P>
void pool_inside(const float* from, int64_t count, int width, float* out) {
  if constexpr (P == Pooling::kMax) {
    std::copy_n(from, count, out);
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = 0.0f + from[i];
  }
  for (int w = 1; w < width; ++w) {
    for (int64_t i = 0; i < count; ++i) {
      out[i] = P == Pooling::kMax ? larger(out[i], from[i + w]) : out[i] + from[i + w];
    }
  }
  for (int64_t i = 0; P == Pooling::kAverage && i < count; ++i) {
    out[i] /= static_cast<float>(width);
  }
}

/// One position near an end, with its existing neighbours [first, last).
template <Pooling P>
float pool_at_end(const float* scores, int64_t first, int64_t last, int width) {
  float result = P == Pooling::kMax ? scores[first] : 0.0f;
  for (int64_t i = first; i < last; ++i) {
    result = P == Pooling::kMax ? larger(result, scores[i]) : result + scores[i];
  }
  return P == Pooling::kMax ? result : result / static_cast<float>(width);
}

template <Pooling P>
void pool(std::span<const float> scores, int width, float* out) {
  const int64_t n = std::ssize(scores), reach = width / 2;
  const int64_t begin = std::min(n, reach), end = std::max(begin, n - reach);
  const auto near_end = [&](int64_t i) {
    out[i] = pool_at_end<P>(scores.data(), std::max<int64_t>(0, i - reach),
                            std::min(n, i + reach + 1), width);
  };
  for (int64_t i = 0; i < begin; ++i) near_end(i);
  for (int64_t i = begin; i < end; i += kTogether) {
    pool_inside<P>(scores.data() + i - reach, std::min(kTogether, end - i), width, out + i);
  }
  for (int64_t i = end; i < n; ++i) near_end(i);
}

}  // namespace

void pool_scores(Queue& queue, View<const float> scores, int width, Pooling pooling,
                 View<float> out) {
  if (on_device(kPoolScores, queue, scores, width, pooling, out)) return;
  HostStage on(queue);
  LH_ASSERT(width > 0 && width % 2 == 1);
  LH_ASSERT(out.size() == scores.size());
  if (scores.empty()) return;
  LH_ASSERT(host(on(scores)).data() != host(on(out)).data());
  if (pooling == Pooling::kMax) {
    pool<Pooling::kMax>(host(on(scores)), width, host(on(out)).data());
  } else {
    pool<Pooling::kAverage>(host(on(scores)), width, host(on(out)).data());
  }
}

}  // namespace longhaul
