#pragma once
// Divides a block of tokens into spans that attend to themselves (Ltri-LLM, arXiv:2412.04757, 3.2
// and 3.3). Spans are triangles along the diagonal of the block's attention map whose entries
// exceed a threshold.

#include <cstdint>
#include <span>
#include <vector>

namespace longhaul {

/// The map of a block: A[i, j] for j <= i < n is map[i * stride + j]. Entries above the diagonal
/// are not read.
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
  float threshold = 0;    ///< subtracted from every entry of a triangle
  float most_iou = 0.1f;  ///< largest IoU of the squares of two selected spans
  int most = 4;           ///< most spans
};

/// Returns the quantile of the map's lower triangle, including the diagonal, with linear
/// interpolation.
float map_quantile(const BlockMap& map, double level);

/// S[x, y] of every span [x, y], at scores[x * n + y] for x <= y.
std::vector<float> span_scores(const BlockMap& map, float threshold);

/// Among the spans that share a midpoint, the one with the highest score is a candidate (ties: the
/// shortest). Candidates are visited from the highest score down (ties: the lower midpoint). Each
/// is selected unless its square overlaps the square of a selected one by more than `most_iou`.
/// Returns the selected spans in the order of their scores.
std::vector<BlockSpan> divide_into_spans(const BlockMap& map, const SpanRule& rule);

/// Intersection over union of the squares of two spans.
float span_iou(const BlockSpan& a, const BlockSpan& b);

enum class SpanNeighbours : uint8_t { kRow, kColumn, kBoth };

/// Attention within the span divided by the attention between the span and other tokens of the
/// block: earlier ones (kRow: from the span's rows to them), later ones (kColumn: from them to the
/// span), or both. At most 1; 1 without such attention. A high ratio means that the neighbours hold
/// little information on the span.
float span_ratio(const BlockMap& map, const BlockSpan& span, SpanNeighbours neighbours);

/// Returns the number of index vectors of a span: its length times exp(-lambda * (1 - ratio)),
/// rounded up. It is at least 1, and at most `most` and the length.
int index_count(int length, float ratio, float lambda, int most);

}  // namespace longhaul
