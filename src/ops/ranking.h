#pragma once
// Choosing keys by score: the best k, and 1-D pooling of scores along the keys
// (SnapKV, arXiv:2404.14469).

#include <cstdint>
#include <span>
#include <vector>

namespace longhaul {

/// The k highest scores (all, when there are fewer), as ascending indices. Of equal scores the
/// lower index wins; NaN is below all.
std::vector<int32_t> top_indices(std::span<const float> scores, int64_t k);

/// The k most frequent of `votes` (numbers >= 0; negative ones do not count), ascending, each once;
/// of equal counts the lower number wins. `counters` is working memory: all zero, before and after.
std::vector<int32_t> most_voted(std::span<const int32_t> votes, int64_t k,
                                std::vector<int32_t>& counters);

enum class Pooling : uint8_t { kAverage, kMax };

/// Each score becomes the average or the maximum of the `width` (odd) scores around it. The average
/// counts places past the ends as zeros, the maximum ignores them.
std::vector<float> pooled(std::span<const float> scores, int width, Pooling pooling);

}  // namespace longhaul
