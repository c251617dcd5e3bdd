#pragma once
// Dividing a block of tokens into spans that attend to themselves (Ltri-LLM, arXiv:2412.04757, 3.2
// and 3.3): triangles along the diagonal of the block's attention map that hold more than a
// threshold.

#include <cstdint>
#include <span>
#include <vector>

namespace longhaul {

/// The map of a block: A[i, j] for j <= i < n at map[i * stride + j]; what lies above the diagonal
/// is not read.
struct BlockMap {
  const float* map = nullptr;
  int n = 0;
  int stride = 0;
  float at(int i, int j) const { return map[i * stride + j]; }
};

/// Tokens [begin, end) of a block.
struct BlockSpan {
  int begin = 0, end = 0;
  float score = 0;  ///< sum of A - threshold over its triangle
  int length() const { return end - begin; }
  bool operator==(const BlockSpan&) const = default;
};

struct SpanRule {
  float threshold = 0;    ///< subtracted from every entry of the triangle
  float most_iou = 0.1f;  ///< of the squares of two spans that both stay
  int most = 4;           ///< spans
};

/// The quantile of the map's lower triangle, diagonal included, interpolated linearly.
float map_quantile(const BlockMap& map, double level);

/// S[x, y] of every span [x, y], at scores[x * n + y] for x <= y.
std::vector<float> span_scores(const BlockMap& map, float threshold);

/// Among the spans that share a midpoint, the one with the highest score is a candidate (of equal
/// ones the shortest). Candidates are then looked at from the highest score down (of equal ones the
/// lower midpoint first): each stays unless its square overlaps the square of one that stayed by
/// more than `most_iou`. Returns those that stay, in the order of their scores.
std::vector<BlockSpan> divide_into_spans(const BlockMap& map, const SpanRule& rule);

/// Overlap of the squares of two spans over their union.
float span_iou(const BlockSpan& a, const BlockSpan& b);

enum class SpanNeighbours : uint8_t { kRow, kColumn, kBoth };

/// Attention within the span over that between the span and the block's tokens before it (kRow:
/// what its rows pay them), after it (kColumn: what they pay it), or both. At most 1; 1 without
/// such attention. High: the neighbours know little of the span.
float span_ratio(const BlockMap& map, const BlockSpan& span, SpanNeighbours neighbours);

/// How many index vectors a span gets: its length times exp(-lambda * (1 - ratio)), rounded up,
/// from 1 to `most` and its length.
int index_count(int length, float ratio, float lambda, int most);

}  // namespace longhaul
