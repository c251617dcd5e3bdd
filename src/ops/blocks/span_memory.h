#pragma once
// What dividing a block of tokens into spans reads, writes and keeps (ops/blocks/span_phases.h).

#include "ops/choose/select_phases.h"

namespace longhaul::cuda {

inline constexpr int kMostSpanTokens = 512;  ///< of a block: each midpoint has a thread
/// Blocks up to this length keep their triangles in shared memory: 66 KB, beside 26 of SpanShared
/// (the smallest card, sm_86, has 99).
inline constexpr int kSharedSpanTokens = 128;

/// Numbers of a block's lower triangle, rows end to end: number (i, j) is row_start(i) + j. Rows
/// that follow each other begin in different banks, so that a warp reads its columns, its rows and
/// its diagonals without conflicts.
LH_BOTH constexpr int row_start(int i) { return i * (i + 1) / 2; }

/// A span that may stay: the best of its midpoint.
struct SpanRecord {
  int32_t begin, end;
  float score;
};

/// One block of tokens.
struct SpanTask {
  const float* map = nullptr;  ///< rows of `stride` numbers
  int n = 0, stride = 0;
  const float* votes = nullptr;  ///< [n, heads]; null: columns of the map are summed
  int heads = 0;
  double level = 0;  ///< quantile of the map
  float most_iou = 0, lambda = 0;
  int most_spans = 0, most_tokens = 0;  ///< of a span
  bool before = true, after = false;    ///< which neighbours count
  int32_t* out = nullptr;               ///< as SpanTokens (ops/blocks/span_vectors.h)
  std::byte* scratch = nullptr;         ///< span_scratch_bytes()
};

/// Parts of the scratch, each behind the other.
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

/// Blocks of tokens, one behind the other: the first, of `stride` tokens, and what there is in all.
struct SpanTasks {
  SpanTask first;
  int64_t tokens = 0;
  int64_t record = 0, scratch_bytes = 0;  ///< of a block

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

/// A search for one of many keys by three digits.
struct QuantileShared {
  static constexpr int kDigit = 11;
  uint32_t bins[1 << kDigit];
  ScanShared scan;
  uint32_t prefix;  ///< of the key
  uint32_t rank;    ///< of the key among those that begin as it does
  uint32_t same;    ///< how many begin so
};

struct SpanShared {
  union {  // candidates come after the threshold
    QuantileShared quantile;
    SpanRecord candidates[2 * kMostSpanTokens];
  };
  LargestKeyShared largest;
  SumShared<2> sums;                 ///< of a warp: a span's own, its neighbours'
  uint32_t votes[kMostSpanTokens];   ///< order_key() of the tokens'
  SpanRecord kept[kMostSpanTokens];  ///< from the best down
  int16_t counts[kMostSpanTokens];   ///< of tokens that stand for the spans
  int32_t ends[kMostSpanTokens];     ///< their sums
  bool out[2 * kMostSpanTokens];     ///< candidates that stayed or may not
};

}  // namespace longhaul::cuda
