#pragma once
// Selects spans in a block of tokens (Ltri-LLM, arXiv:2412.04757, sections 3.2 and 3.3). A span is
// a range of adjacent tokens that attend strongly to each other. In the attention map of the block,
// a span is a triangle along the diagonal, and the entries of a good triangle exceed a threshold.
// Spans may overlap slightly and need not cover the block.

#include <cstdint>
#include <span>
#include <vector>

namespace longhaul {

/// The attention map of a block of n tokens. The attention of token i to token j <= i is map[i *
/// stride + j]. Entries above the diagonal are not read.
struct BlockMap {
  const float* map = nullptr;
  int n = 0;
  int stride = 0;
  float at(int i, int j) const { return map[i * stride + j]; }
};

/// A span: tokens [begin, end) of a block.
struct BlockSpan {
  int begin = 0, end = 0;
  float score = 0;  ///< sum of (entry - threshold) over the triangle
  int length() const { return end - begin; }
  bool operator==(const BlockSpan&) const = default;
};

struct SpanRule {
  float threshold = 0;  ///< the threshold that is subtracted from every entry
  /// Largest allowed IoU (intersection over union) of two selected spans. The IoU is computed from
  /// squares along the diagonal with the length of the spans.
  float most_iou = 0.1f;
  int most = 4;  ///< largest number of spans
};

/// Returns the linearly interpolated quantile `level` (0 to 1) of the entries of the lower
/// triangle, including the diagonal.
float map_quantile(const BlockMap& map, double level);

/// Returns the scores of all spans. The score of the span of tokens x to y, for x <= y, is at index
/// x * n + y.
std::vector<float> span_scores(const BlockMap& map, float threshold);

/// Selects at most rule.most spans of a block. Among the spans with the same midpoint, the span
/// with the highest score is a candidate; if scores are equal, the shortest. Candidates are
/// processed in descending order of scores, and for equal scores in ascending order of midpoints. A
/// candidate is selected if its IoU with every selected span is at most `most_iou`. The result is
/// in descending order of scores.
std::vector<BlockSpan> divide_into_spans(const BlockMap& map, const SpanRule& rule);

/// Returns the IoU (intersection over union) of the squares along the diagonal of two spans.
float span_iou(const BlockSpan& a, const BlockSpan& b);

/// Selects the neighbours of a span: the earlier tokens of the block (kRow), the later tokens
/// (kColumn), or both.
enum class SpanNeighbours : uint8_t { kRow, kColumn, kBoth };

/// Returns own / other, but at most 1. `own` is the sum of the attention within the span, and
/// `other` is the sum of the attention between the span and its neighbours: with kRow the attention
/// of the span's tokens to earlier tokens of the block, with kColumn the attention of later tokens
/// to the span, and with kBoth the sum of both. A high ratio means that the neighbours contain
/// little information about the span.
float span_ratio(const BlockMap& map, const BlockSpan& span, SpanNeighbours neighbours);

/// Returns the number of keys that represent a span of `length` tokens in the index: length *
/// exp(-lambda * (1 - ratio)), rounded up. The result is at least 1, and at most `most` and
/// `length`.
int index_count(int length, float ratio, float lambda, int most);

}  // namespace longhaul
