#pragma once
// Selects spans in a block of tokens (attention/methods/ltri/span_division.h explains the terms).
// The code is for one thread block, as phases between barriers (ops/core/gpu/block.h). Sums are
// computed in the order of the host code (span_division.cc), so results are equal.

#include "attention/methods/ltri/span_memory.h"

namespace longhaul::cuda {

/// A sequence of indices that begins with `at`. The distance to the next index is `step` at first,
/// and grows by `growth` with every index.
struct Walk {
  int at, step, growth = 0;

  LH_BOTH int place(int k) const { return at + k * step + k * (k - 1) / 2 * growth; }
  LH_BOTH void pass(int k) { at = place(k), step += k * growth; }
};

/// Calls add(index, numbers[index]) for the first `count` indices of the walk, in order. Eight
/// numbers are loaded before they are added, because a load has a much higher latency than an
/// addition.
template <class Add>
LH_PHASES void in_order(int count, Walk walk, const float* numbers, Add&& add) {
  constexpr int kAtOnce = 8;
  float some[kAtOnce];
  LH_UNROLL(1)
  for (; count >= kAtOnce; count -= kAtOnce, walk.pass(kAtOnce)) {
    LH_UNROLL(kAtOnce)
    for (int k = 0; k < kAtOnce; ++k) some[k] = numbers[walk.place(k)];
    LH_UNROLL(kAtOnce)
    for (int k = 0; k < kAtOnce; ++k) add(walk.place(k), some[k]);
  }
  LH_UNROLL(kAtOnce)
  for (int k = 0; k < kAtOnce - 1; ++k) some[k] = k < count ? numbers[walk.place(k)] : 0.0f;
  LH_UNROLL(kAtOnce)
  for (int k = 0; k < kAtOnce - 1; ++k) {
    if (k < count) add(walk.place(k), some[k]);
  }
}

/// Returns the indices of column x of a packed lower triangle (row_start()), from the diagonal
/// down.
LH_BOTH Walk column_of(int x) { return {row_start(x) + x, x + 1, 1}; }

/// Computes the scores of all spans of tokens [x, y]: score(x, y) = score(x, y - 1) + sum over j in
/// [x, y] of (map(y, j) - threshold). Stores score(x, y) in the packed triangle `sums` at row y,
/// column x.
template <class Block>
LH_PHASES void find_scores(const Block& block, int n, float threshold, const float* triangle,
                           float* sums) {
  block.each([&](int t) {
    if (t >= n) return;
    float row = 0;
    in_order(t + 1, {row_start(t) + t, -1}, triangle, [&](int place, float x) {
      row += x - threshold;
      sums[place] = row;
    });
  });
  block.each([&](int t) {
    if (t >= n) return;
    float sum = 0;
    in_order(n - t, column_of(t), sums, [&](int place, float row) {
      sum += row;
      sums[place] = sum;
    });
  });
}

/// Returns whether a is better than b, for two spans with equal midpoints. If scores are equal, the
/// shorter span is better.
LH_BOTH bool better_of_midpoint(const SpanRecord& a, const SpanRecord& b) {
  return b.end == 0 || a.score > b.score || (a.score == b.score && a.begin > b.begin);
}

/// Returns the number of threads that search the best span of one midpoint.
LH_BOTH int threads_of_midpoint(int midpoints) {
  // Limited, because one thread compares the results of all these threads.
  constexpr int kMost = 8;
  const int threads = kBlockThreads / midpoints;
  return threads < kMost ? threads : kMost;
}

/// Finds the best span of each midpoint: each of several threads searches a part of the spans, and
/// stores the best one in s.candidates [threads, midpoints].
template <class Block>
LH_PHASES void find_candidates(const Block& block, SpanShared& s, int n, const float* scores) {
  const int midpoints = 2 * n - 1, threads = threads_of_midpoint(midpoints);
  block.each([&](int t) {
    if (t >= threads * midpoints) return;
    const int middle = t % midpoints;
    const int least = middle - n + 1 > 0 ? middle - n + 1 : 0;
    SpanRecord best{0, 0, 0};
    LH_UNROLL(1)
    for (int x = middle / 2 - t / midpoints; x >= least; x -= threads) {
      const int y = middle - x;
      const float score = scores[row_start(y) + x];
      if (best.end == 0 || score > best.score) best = {x, y + 1, score};
    }
    s.candidates[t] = best;
  });
}

LH_BOTH float iou_of(const SpanRecord& a, const SpanRecord& b) {
  const int both = (a.end < b.end ? a.end : b.end) - (a.begin > b.begin ? a.begin : b.begin);
  if (both <= 0) return 0;
  const int la = a.end - a.begin, lb = b.end - b.begin;
  return static_cast<float>(both * both) / static_cast<float>(la * la + lb * lb - both * both);
}

/// Selects candidates, best first, and stores them in s.kept. A candidate is excluded if its IoU
/// with a selected one exceeds task.most_iou. Returns the number of selected candidates, which is
/// the same in all threads.
template <class Block>
LH_PHASES int keep_spans(const Block& block, SpanShared& s, const SpanTask& task) {
  const int midpoints = 2 * task.n - 1, threads = threads_of_midpoint(midpoints);
  SpanRecord best{0, 0, 0};
  int at = 0;
  for (int round = 0;; ++round) {
    // The upper half of the key orders candidates by score. The lower half prefers the lowest
    // midpoint among equal scores.
    const uint64_t key = block.largest_key(s.largest, round % 2, [&](int t) -> uint64_t {
      if (t >= midpoints) return 0;
      SpanRecord& own = s.candidates[t];
      if (round == 0) {
        LH_UNROLL(1)
        for (int k = 1; k < threads; ++k) {
          const SpanRecord& other = s.candidates[k * midpoints + t];
          if (other.end != 0 && better_of_midpoint(other, own)) own = other;
        }
        s.out[t] = false;
      } else if (t == at) {
        s.kept[round - 1] = own;
        s.out[t] = true;
      } else if (iou_of(own, best) > task.most_iou) {
        s.out[t] = true;
      }
      if (s.out[t] || round == task.most_spans) return 0;
      return uint64_t{order_key(own.score)} << 32 | ~static_cast<uint32_t>(t);
    });
    if (key == 0) return round;  // the condition is equal in all threads
    at = static_cast<int>(~static_cast<uint32_t>(key));
    best = s.candidates[at];
  }
}

}  // namespace longhaul::cuda
