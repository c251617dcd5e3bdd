#include "attention/methods/ltri/span_division.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace longhaul {
namespace {

/// Implements span_scores().
void fill_scores(const BlockMap& map, float threshold, std::vector<float>& scores) {
  // S[x, y] = S[x, y - 1] + the sum of row y over columns [x, y], because entries above the
  // diagonal are not used.
  const int n = map.n;
  scores.assign(static_cast<size_t>(n) * static_cast<size_t>(n), 0.0f);
  thread_local std::vector<float> sums;  // S[x, y - 1] for every x
  sums.assign(static_cast<size_t>(n), 0.0f);
  for (int y = 0; y < n; ++y) {
    float row = 0;
    for (int x = y; x >= 0; --x) {
      row += map.at(y, x) - threshold;
      float& sum = sums[static_cast<size_t>(x)];
      sum += row;
      scores[static_cast<size_t>(x * n + y)] = sum;
    }
  }
}

/// Writes the best span for each midpoint to `candidates`, in the order of midpoints.
void fill_candidates(const BlockMap& map, const std::vector<float>& scores,
                     std::vector<BlockSpan>& candidates) {
  candidates.clear();
  for (int middle = 0; middle <= 2 * (map.n - 1); ++middle) {  // x + y
    BlockSpan best;
    for (int x = middle / 2; x >= std::max(0, middle - map.n + 1); --x) {
      const int y = middle - x;
      const float score = scores[static_cast<size_t>(x * map.n + y)];
      if (best.end == 0 || score > best.score) best = {x, y + 1, score};
    }
    candidates.push_back(best);
  }
}

/// Replaces NaN by minus infinity, because sorting needs a total order. Damaged weights can cause
/// NaN.
float sortable(float score) {
  return std::isnan(score) ? -std::numeric_limits<float>::infinity() : score;
}

bool comes_first(const BlockSpan& a, const BlockSpan& b) {
  const float x = sortable(a.score), y = sortable(b.score);
  return x > y || (x == y && a.begin + a.end < b.begin + b.end);
}

}  // namespace

float map_quantile(const BlockMap& map, double level) {
  LH_ASSERT(map.n > 0 && level >= 0 && level <= 1);
  thread_local std::vector<float> entries;
  entries.clear();
  for (int i = 0; i < map.n; ++i) {
    entries.insert(entries.end(), map.map + i * map.stride, map.map + i * map.stride + i + 1);
  }
  const double rank = level * static_cast<double>(entries.size() - 1);
  const auto below = entries.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(entries.begin(), below, entries.end());
  const float low = *below;
  if (below + 1 == entries.end()) return low;
  const float high = *std::min_element(below + 1, entries.end());
  return low + static_cast<float>(rank - std::floor(rank)) * (high - low);
}

std::vector<float> span_scores(const BlockMap& map, float threshold) {
  std::vector<float> scores;
  fill_scores(map, threshold, scores);
  return scores;
}

float span_iou(const BlockSpan& a, const BlockSpan& b) {
  const float both = static_cast<float>(std::min(a.end, b.end) - std::max(a.begin, b.begin));
  if (both <= 0) return 0;
  const float la = static_cast<float>(a.length()), lb = static_cast<float>(b.length());
  return both * both / (la * la + lb * lb - both * both);
}

std::vector<BlockSpan> divide_into_spans(const BlockMap& map, const SpanRule& rule) {
  thread_local std::vector<float> scores;
  thread_local std::vector<BlockSpan> candidates;
  fill_scores(map, rule.threshold, scores);
  fill_candidates(map, scores, candidates);
  std::sort(candidates.begin(), candidates.end(), comes_first);
  std::vector<BlockSpan> kept;
  kept.reserve(std::min(candidates.size(), static_cast<size_t>(rule.most)));
  for (const BlockSpan& span : candidates) {
    if (static_cast<int>(kept.size()) >= rule.most) break;
    const bool apart = std::all_of(kept.begin(), kept.end(), [&](const BlockSpan& other) {
      return span_iou(span, other) <= rule.most_iou;
    });
    if (apart) kept.push_back(span);
  }
  return kept;
}

float span_ratio(const BlockMap& map, const BlockSpan& span, SpanNeighbours neighbours) {
  double own = 0, before = 0, after = 0;
  for (int i = span.begin; i < span.end; ++i) {
    for (int j = 0; j < span.begin; ++j) before += map.at(i, j);
    for (int j = span.begin; j <= i; ++j) own += map.at(i, j);
  }
  for (int i = span.end; i < map.n; ++i) {
    for (int j = span.begin; j < span.end; ++j) after += map.at(i, j);
  }
  const double other = (neighbours != SpanNeighbours::kColumn ? before : 0) +
                       (neighbours != SpanNeighbours::kRow ? after : 0);
  return other > own ? static_cast<float>(own / other) : 1.0f;
}

int index_count(int length, float ratio, float lambda, int most) {
  const float share = std::exp(-lambda * (1.0f - ratio));
  const float count = std::ceil(static_cast<float>(length) * share);
  // If damaged weights cause NaN in maps and ratios, all tokens are used.
  const int within = count < static_cast<float>(length) ? static_cast<int>(count) : length;
  return std::max(1, std::min(within, most));
}

}  // namespace longhaul
