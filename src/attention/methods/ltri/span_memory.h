#pragma once
// Data structures for dividing a block of tokens into spans (attention/methods/ltri/span_phases.h).

#include "ops/choose/select_phases.h"

namespace longhaul::cuda {

inline constexpr int kMostSpanTokens = 512;  ///< per block, because each midpoint has a thread
/// Blocks up to this length keep their triangles in shared memory. The triangles take 66 KB, and
/// SpanShared takes 26 KB. The cards with the least shared memory (sm_86) have 99 KB.
inline constexpr int kSharedSpanTokens = 128;

/// Returns the index at which row i of a packed lower triangle begins: value (i, j) is at
/// row_start(i) + j. Consecutive rows begin in different banks. A warp thus reads columns, rows and
/// diagonals without bank conflicts.
LH_BOTH constexpr int row_start(int i) { return i * (i + 1) / 2; }

/// A candidate: the best span of its midpoint.
struct SpanRecord {
  int32_t begin, end;
  float score;
};

/// One block of tokens.
struct SpanTask {
  const float* map = nullptr;  ///< rows of `stride` values
  int n = 0, stride = 0;
  const float* votes = nullptr;  ///< [n, heads]; null: the votes are column sums of the map
  int heads = 0;
  double level = 0;  ///< quantile of the map that is used as threshold
  float most_iou = 0, lambda = 0;
  /// Largest number of spans, and of representative tokens per span.
  int most_spans = 0, most_tokens = 0;
  /// Whether tokens before, and after, a span count as neighbours.
  bool before = true, after = false;
  int32_t* out = nullptr;  ///< in the format of SpanTokens (attention/methods/ltri/span_vectors.h)
  std::byte* scratch = nullptr;  ///< span_scratch_bytes()
};

/// The arrays in the scratch memory, one after the other.
struct SpanScratch {
  float* triangle;   ///< [row_start(n)]
  float* sums;       ///< [row_start(n)]
  int32_t* by_rank;  ///< [most_spans, most_tokens]

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

/// Tasks for consecutive blocks of tokens. `first` is the first block, with `stride` tokens.
/// `tokens` is the total number of tokens.
struct SpanTasks {
  SpanTask first;
  int64_t tokens = 0;
  int64_t record = 0, scratch_bytes = 0;  ///< size of a block's record in `out`, and of its scratch

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

/// State of a search for the key with a given rank. The search determines the key in three digits.
struct QuantileShared {
  static constexpr int kDigit = 11;
  uint32_t bins[1 << kDigit];
  ScanShared scan;
  uint32_t prefix;  ///< digits of the key that are already known
  uint32_t rank;    ///< rank of the key among the keys with this prefix
  uint32_t same;    ///< number of keys with this prefix
};

struct SpanShared {
  union {  // the candidates are stored after the threshold has been found
    QuantileShared quantile;
    SpanRecord candidates[2 * kMostSpanTokens];
  };
  LargestKeyShared largest;
  /// Per warp: attention within a span, and between the span and its neighbours.
  SumShared<2> sums;
  uint32_t votes[kMostSpanTokens];   ///< order_key() of each token's votes
  SpanRecord kept[kMostSpanTokens];  ///< selected spans, best first
  int16_t counts[kMostSpanTokens];   ///< number of representative tokens per span
  int32_t ends[kMostSpanTokens];     ///< prefix sums of counts
  bool out[2 * kMostSpanTokens];     ///< per candidate: whether it is selected or excluded
};

}  // namespace longhaul::cuda
