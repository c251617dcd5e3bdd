#pragma once
// Data structures of the GPU code that selects spans in a block of tokens and the tokens that
// represent them (attention/methods/ltri/span_phases.h). span_division.h explains the terms.

#include "ops/choose/select_phases.h"

namespace longhaul::cuda {

inline constexpr int kMostSpanTokens = 512;  ///< per block; each midpoint of spans needs a thread
/// For blocks of at most this many tokens, the triangles of SpanScratch are in shared memory. They
/// have 66 KB, and SpanShared has 26 KB. The GPUs with the least shared memory (sm_86) have 99 KB.
inline constexpr int kSharedSpanTokens = 128;

/// A packed lower triangle stores element (i, j), for j <= i, at index row_start(i) + j. Returns
/// this first index of row i. Consecutive rows begin in different banks of shared memory, so a warp
/// reads columns, rows and diagonals without bank conflicts.
LH_BOTH constexpr int row_start(int i) { return i * (i + 1) / 2; }

/// A span of tokens [begin, end), and its score.
struct SpanRecord {
  int32_t begin, end;
  float score;
};

/// The arguments for one block of tokens.
struct SpanTask {
  const float* map = nullptr;  ///< attention map: n rows of `stride` floats
  int n = 0, stride = 0;
  const float* votes = nullptr;  ///< [n, heads]; if null, the column sums of the map are the votes
  int heads = 0;
  double level = 0;  ///< the quantile of the map's entries that is the threshold
  float most_iou = 0, lambda = 0;
  /// Largest number of spans, and largest number of tokens that represent a span.
  int most_spans = 0, most_tokens = 0;
  /// Whether earlier tokens are neighbours of a span, and whether later tokens are
  /// (SpanNeighbours).
  bool before = true, after = false;
  int32_t* out = nullptr;        ///< result: a record of SpanTokens (span_vectors.h)
  std::byte* scratch = nullptr;  ///< has span_scratch_bytes() bytes
};

/// The arrays in the scratch memory of a block. They follow each other.
struct SpanScratch {
  float* triangle;   ///< [row_start(n)]: packed lower triangle of the map
  float* sums;       ///< [row_start(n)]: scores of all spans, packed in the same way
  int32_t* by_rank;  ///< [most_spans, most_tokens]: representative tokens in order of votes

  LH_BOTH SpanScratch(std::byte* memory, int n) {
    triangle = reinterpret_cast<float*>(memory);
    sums = triangle + row_start(n);
    by_rank = reinterpret_cast<int32_t*>(sums + row_start(n));
  }
};
LH_BOTH int64_t span_scratch_bytes(int n, int spans, int tokens) {
  const int64_t bytes = 4 * (int64_t{2} * row_start(n) + int64_t{spans} * tokens);
  return (bytes + 255) / 256 * 256;
}

/// The arguments for consecutive blocks of tokens. Blocks have first.stride tokens, but the last
/// block may have fewer. `tokens` is the total number of tokens.
struct SpanTasks {
  SpanTask first;
  int64_t tokens = 0;
  int64_t record = 0, scratch_bytes = 0;  ///< sizes of a block's record in `out` and of its scratch

  LH_BOTH int64_t blocks() const { return (tokens + first.stride - 1) / first.stride; }
  LH_BOTH SpanTask of(int64_t b) const {
    SpanTask task = first;
    const int64_t begin = b * first.stride, left = tokens - begin;
    task.n = left < first.stride ? static_cast<int>(left) : first.stride;
    task.map += begin * first.stride;
    if (task.votes != nullptr) task.votes += begin * first.heads;
    task.out += b * record;
    task.scratch += b * scratch_bytes;
    return task;
  }
};

/// State of find_rank(), which finds the number with a given rank. order_key() converts a float to
/// an integer with the same order. find_rank() determines the three digits of the number's
/// order_key(), beginning with the highest digit.
struct QuantileShared {
  static constexpr int kDigit = 11;
  uint32_t bins[1 << kDigit];
  ScanShared scan;
  uint32_t prefix;  ///< the digits of the key that have been determined
  uint32_t rank;    ///< rank of the key among the keys with this prefix
  uint32_t same;    ///< number of keys with this prefix
};

struct SpanShared {
  union {  // candidates are written after the threshold has been found
    QuantileShared quantile;
    SpanRecord candidates[2 * kMostSpanTokens];
  };
  LargestKeyShared largest;
  /// Sums per warp: attention within a span, and attention between the span and its neighbours.
  SumShared<2> sums;
  uint32_t votes[kMostSpanTokens];   ///< order_key() of each token's sum of votes
  SpanRecord kept[kMostSpanTokens];  ///< selected spans, best first
  int16_t counts[kMostSpanTokens];   ///< per span: number of tokens that represent it
  int32_t ends[kMostSpanTokens];     ///< prefix sums of counts
  bool out[2 * kMostSpanTokens];     ///< per candidate: whether it has been selected or excluded
};

}  // namespace longhaul::cuda
