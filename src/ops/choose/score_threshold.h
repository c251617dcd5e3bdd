#pragma once
// Finds the threshold between the best k of an array of scores and the rest, and lists the indices
// of the best scores in ascending order. If scores are equal, the one with the lower index is
// better. NaN, which damaged weights or keys can cause, counts as minus infinity.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>

#include "base/array.h"

namespace longhaul {

/// The threshold that separates the best scores from the others. The best scores are all scores
/// above `score`, and the first `equal` of the scores that equal `score`.
template <class T>
struct ScoreThreshold {
  T score{};
  int64_t equal = 0;
};

inline float ordered_score(float x) {
  return std::isnan(x) ? -std::numeric_limits<float>::infinity() : x;
}
inline int32_t ordered_score(int32_t x) { return x; }

/// Returns the threshold of the best k of `scores`. `scores` must not contain NaN. The function
/// reorders them.
template <class T>
ScoreThreshold<T> threshold_reordering(std::span<T> scores, int64_t k) {
  using Limits = std::numeric_limits<T>;
  LH_ASSERT(k >= 0);
  if (k == 0) return {Limits::has_infinity ? Limits::infinity() : Limits::max(), 0};
  if (k >= std::ssize(scores)) {
    return {Limits::has_infinity ? -Limits::infinity() : Limits::lowest(), std::ssize(scores)};
  }
  const auto last = scores.begin() + (k - 1);
  std::nth_element(scores.begin(), last, scores.end(), std::greater<>());
  return {*last, std::count(scores.begin(), last + 1, *last)};
}

/// Like threshold_reordering(), for a small k. A heap holds the best scores so far. It rarely
/// changes, so most scores cost one comparison. `heap` [k] is scratch memory. k is positive and at
/// most scores.size().
template <class T>
ScoreThreshold<T> threshold_by_heap(std::span<const T> scores, std::span<T> heap) {
  const auto first = scores.first(heap.size());
  std::transform(first.begin(), first.end(), heap.begin(), [](T x) { return ordered_score(x); });
  std::make_heap(heap.begin(), heap.end(), std::greater<>());  // the worst of them is in front
  for (const T x : scores.subspan(heap.size())) {
    if (!(x > heap.front())) continue;
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.back() = x;
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  }
  return {heap.front(), std::count(heap.begin(), heap.end(), heap.front())};
}

/// Returns the threshold of the best k of `scores`. `scratch` is memory that is reused between
/// calls.
template <class T>
ScoreThreshold<T> threshold_of_best(std::span<const T> scores, int64_t k, Array<T>& scratch) {
  // A heap is faster if there are more than 16 times as many scores as are selected.
  constexpr int64_t kDecode = 16;
  const int64_t count = std::ssize(scores);
  const bool decode = k > 0 && k < count / kDecode;
  const std::span<T> memory = host(scratch.resize(host_queue(), decode ? k : count));
  if (decode) return threshold_by_heap(scores, memory);
  std::transform(scores.begin(), scores.end(), memory.begin(),
                 [](T x) { return ordered_score(x); });
  return threshold_reordering(memory, k);
}

/// Writes first + i for the index i of each of the best scores, in ascending order. Returns how
/// many it wrote. The loop has no branches, because they would be unpredictable. `out` must have
/// room for one more element than the result.
template <class T>
int64_t write_best(std::span<const T> scores, ScoreThreshold<T> threshold, int64_t first,
                   int32_t* out) {
  int64_t count = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    const T x = ordered_score(scores[i]);
    const bool equals = x == threshold.score;
    out[count] = static_cast<int32_t>(first + static_cast<int64_t>(i));
    count += (x > threshold.score) | (equals & (threshold.equal > 0));
    threshold.equal -= equals;
  }
  return count;
}

}  // namespace longhaul
