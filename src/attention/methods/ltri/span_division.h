#pragma once
// Divides a block of tokens into spans whose tokens attend to each other (Ltri-LLM,
// arXiv:2412.04757, sections 3.2 and 3.3). A span is a triangle along the diagonal of the block's
// attention map whose entries exceed a threshold.

#include <cstdint>
#include <span>
#include <vector>

namespace longhaul {

/// The attention map of a block. A[i, j] for j <= i < n is map[i * stride + j]. Entries above the
/// diagonal are not read.
struct BlockMap {
  const float* map = nullptr;
  int n = 0;
  int stride = 0;
  float at(int i, int j) const { return map[i * stride + j]; }
};

/// A span: tokens [begin, end) of a block.
struct BlockSpan {
  int begin = 0, end = 0;
  float score = 0;  ///< sum of A - threshold over the triangle
  int length() const { return end - begin; }
  bool operator==(const BlockSpan&) const = default;
};

struct SpanRule {
  float threshold = 0;  ///< subtracted from every entry of a triangle
  /// Largest IoU (intersection over union) of the squares of two selected spans.
  float most_iou = 0.1f;
  int most = 4;  ///< largest number of spans
};

/// Returns the quantile `level` of the entries of the lower triangle, including the diagonal. It is
/// interpolated linearly.
float map_quantile(const BlockMap& map, double level);

/// Returns the score of every span of tokens x to y at index x * n + y, for x <= y.
std::vector<float> span_scores(const BlockMap& map, float threshold);

/// Selects the spans of a block. For each midpoint, the span with the highest score is a candidate;
/// among equal scores it is the shortest. Candidates are processed from the highest score down, and
/// for equal scores from the lowest midpoint. A candidate is selected unless the IoU of its square
/// and that of a selected span exceeds `most_iou`. The result is in the order of the scores.
std::vector<BlockSpan> divide_into_spans(const BlockMap& map, const SpanRule& rule);

/// Returns the IoU (intersection over union) of the squares of two spans.
float span_iou(const BlockSpan& a, const BlockSpan& b);

/// The tokens that count as neighbours of a span: earlier ones (kRow), later ones (kColumn), or
/// both.
enum class SpanNeighbours : uint8_t { kRow, kColumn, kBoth };

/// Returns the attention within the span divided by the attention between the span and its
/// neighbours in the block. With kRow, the latter is the attention of the span to earlier tokens.
/// With kColumn, the latter is the attention of later tokens to the span. The result is at most 1,
/// and 1 if there is no such attention. A high ratio means that the neighbours contain little
/// information about the span.
float span_ratio(const BlockMap& map, const BlockSpan& span, SpanNeighbours neighbours);

/// Returns the number of index vectors of a span: length * exp(-lambda * (1 - ratio)), rounded up.
/// It is at least 1 and at most the smaller of `most` and `length`.
int index_count(int length, float ratio, float lambda, int most);

}  // namespace longhaul
