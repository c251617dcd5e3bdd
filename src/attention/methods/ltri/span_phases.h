#pragma once
// Selects spans in a block of tokens, and selects the tokens that represent each span.
// attention/methods/ltri/span_division.h and span_vectors.h explain the terms. The code is for one
// thread block, as phases between barriers (ops/core/gpu/block.h). Sums are computed in the order
// of the host code, except the two sums whose quotient is span_ratio(). There are only few thread
// blocks per layer, so the code is optimised for low latency: for 128 tokens and four spans, there
// are 23 barriers, and no thread adds more than 128 numbers between two barriers. order_key()
// converts a float to an integer with the same order.

#include <cmath>

#include "attention/methods/ltri/span_candidates.h"
#include "attention/methods/ltri/span_quantile.h"

namespace longhaul::cuda {

/// Returns the number of floats from the votes of one token to those of the next token in `staged`
/// (read_block()). This number is odd, so that a warp reads votes of 32 tokens from shared memory
/// without bank conflicts.
LH_BOTH int votes_pitch(int heads) { return heads | 1; }
/// Returns whether read_block() copies the votes to shared memory. They must fit in the
/// array `sums`, which does not yet hold scores at that time.
LH_BOTH bool stages_votes(const SpanTask& task) {
  return task.votes != nullptr &&
         int64_t{task.n} * votes_pitch(task.heads) <= int64_t{row_start(task.n)};
}

/// Copies the lower triangle of the map to `triangle`. If stages_votes() is true, also copies the
/// votes to `staged` [n, votes_pitch(heads)].
template <class Block>
LH_PHASES void read_block(const Block& block, SpanShared& s, const SpanTask& task, float* triangle,
                          float* staged) {
  constexpr int kWarps = kBlockThreads / 32;
  const bool stages = stages_votes(task);
  block.each([&](int t) {
    const float* from = task.map + t / 32 * task.stride;
    LH_UNROLL(1)
    for (int y = t / 32; y < task.n; y += kWarps, from += kWarps * task.stride) {
      float* const to = triangle + row_start(y);
      LH_UNROLL(1)
      for (int x = t % 32; x <= y; x += 32) block.copy(to + x, from + x);
    }
    if (stages) {
      LH_UNROLL(1)
      for (int i = t; i < task.n * task.heads; i += kBlockThreads) {
        const int at = i / task.heads * votes_pitch(task.heads) + i % task.heads;
        block.copy(staged + at, task.votes + i);
      }
    }
    clear_bins(s.quantile, t);
    block.await_copies();
  });
}

/// Stores the order_key() of one token's sum of votes in s.votes. The last kMostSpanTokens threads
/// process one token each.
LH_BOTH void add_votes(SpanShared& s, const SpanTask& task, const float* triangle,
                       const float* staged, int t) {
  const int j = t - (kBlockThreads - kMostSpanTokens);
  if (j < 0 || j >= task.n) return;
  float sum = 0;
  const auto add = [&](int, float x) { sum += x; };
  if (task.votes == nullptr) {
    in_order(task.n - j, column_of(j), triangle, add);
  } else {
    const bool here = stages_votes(task);
    in_order(task.heads, {j * (here ? votes_pitch(task.heads) : task.heads), 1},
             here ? staged : task.votes, add);
  }
  s.votes[j] = order_key(sum);
}

/// Adds the attention within a span to sums[0], and the attention between the span and its
/// neighbours to sums[1]. All threads t = 0 to 31 of a warp call this function. The warp processes
/// every `step`-th row of the map, beginning with row span.begin + first. Each thread processes
/// every 32nd column of these rows.
LH_BOTH void add_attention(const SpanTask& task, const SpanRecord& span, const float* triangle,
                           int first, int step, int t, double (&sums)[2]) {
  constexpr int kAtOnce = 4;
  const int end = task.after ? task.n : span.end;
  LH_UNROLL(1)
  for (int i = span.begin + first; i < end; i += step) {
    const bool inside = i < span.end;
    const int left = inside && task.before ? 0 : span.begin;
    const int right = inside ? i + 1 : span.end;
    const float* const row = triangle + row_start(i);
    LH_UNROLL(1)
    for (int j = left + t; j < right; j += 32 * kAtOnce) {
      float x[kAtOnce];
      LH_UNROLL(kAtOnce)
      for (int k = 0; k < kAtOnce; ++k) x[k] = j + 32 * k < right ? row[j + 32 * k] : 0.0f;
      LH_UNROLL(kAtOnce)
      for (int k = 0; k < kAtOnce; ++k) {
        const bool own = inside && j + 32 * k >= span.begin;
        sums[0] += static_cast<double>(own ? x[k] : 0.0f);
        sums[1] += static_cast<double>(own ? 0.0f : x[k]);
      }
    }
  }
}

/// Returns the number of tokens that represent a span.
LH_BOTH int tokens_of_span(const SpanTask& task, const SpanRecord& span, double own, double other) {
  const float ratio = other > own ? static_cast<float>(own / other) : 1.0f;
  const int length = span.end - span.begin;
  const float share = expf(-task.lambda * (1.0f - ratio));
  const float wanted = ceilf(static_cast<float>(length) * share);
  int count = wanted < static_cast<float>(length) ? static_cast<int>(wanted) : length;
  count = count < task.most_tokens ? count : task.most_tokens;
  return count > 1 ? count : 1;
}

/// Stores the number of tokens that represent each span in s.counts. Several spans are processed at
/// the same time, each by some of the warps.
template <class Block>
LH_PHASES void count_tokens(const Block& block, SpanShared& s, const SpanTask& task, int spans,
                            const float* triangle) {
  constexpr int kWarps = kBlockThreads / 32;
  const int each = spans < kWarps ? kWarps / spans : 1, at_once = kWarps / each;
  LH_UNROLL(1)
  for (int first = 0; first < spans; first += at_once) {
    block.sums_of_warps(s.sums, [&](int t, double(&sums)[2]) {
      const int warp = t / 32, j = first + warp / each;
      if (warp / each >= at_once || j >= spans) return;
      add_attention(task, s.kept[j], triangle, warp % each, each, t % 32, sums);
    });
    block.each([&](int t) {
      const int j = first + t;
      if (t >= at_once || j >= spans) return;
      double own = 0, other = 0;
      LH_UNROLL(1)
      for (int w = t * each; w < (t + 1) * each; ++w) {
        own += s.sums.of_warps[w][0];
        other += s.sums.of_warps[w][1];
      }
      s.counts[j] = static_cast<int16_t>(tokens_of_span(task, s.kept[j], own, other));
    });
  }
}

/// Returns the rank of token i in its span: the number of tokens of the span that have more votes,
/// or equally many votes and a lower index.
LH_BOTH int rank_in_span(const SpanShared& s, const SpanRecord& span, int i) {
  const uint32_t own = s.votes[i];  // at least 1, because no order_key() is 0
  int before = 0;
  LH_UNROLL(4)
  for (int j = span.begin; j < span.end; ++j) before += s.votes[j] > own - (j < i ? 1 : 0) ? 1 : 0;
  return before;
}

/// Writes the record of SpanTokens to task.out: for every span j, the s.counts[j] tokens with the
/// lowest ranks, in ascending order of their indices. by_rank [spans, most_tokens] is scratch.
template <class Block>
LH_PHASES void take_tokens(const Block& block, SpanShared& s, const SpanTask& task, int spans,
                           int32_t* by_rank) {
  const int n = task.n, most = task.most_tokens;
  int32_t *const ends = task.out + 1, *const tokens = ends + task.most_spans;
  block.each([&](int t) {
    LH_UNROLL(1)
    for (int at = t; at < spans * n; at += kBlockThreads) {
      const int j = at / n, i = at % n;
      const SpanRecord span = s.kept[j];
      if (i < span.begin || i >= span.end) continue;
      const int rank = rank_in_span(s, span, i);
      if (rank < s.counts[j]) by_rank[j * most + rank] = i;
    }
    if (t != kBlockThreads - 1) return;
    task.out[0] = spans;
    int32_t end = 0;
    LH_UNROLL(1)
    for (int j = 0; j < task.most_spans; ++j) {
      if (j < spans) s.ends[j] = end += s.counts[j];
      ends[j] = end;
    }
  });
  block.each([&](int t) {
    LH_UNROLL(1)
    for (int at = t; at < spans * most; at += kBlockThreads) {
      const int j = at / most, count = s.counts[j];
      if (at % most >= count) continue;
      const int32_t token = by_rank[at];
      int place = s.ends[j] - count;
      LH_UNROLL(1)
      for (int k = 0; k < count; ++k) place += by_rank[j * most + k] < token ? 1 : 0;
      tokens[place] = token;
    }
    LH_UNROLL(1)
    for (int i = s.ends[spans - 1] + t; i < task.most_spans * most; i += kBlockThreads) {
      tokens[i] = 0;
    }
  });
}

/// Selects the spans of a block and the tokens that represent them, and writes them to task.out.
/// `triangle` and `sums` have room for row_start(n) floats each, in shared memory if they fit.
template <class Block>
LH_PHASES void choose_span_tokens(const Block& block, SpanShared& s, const SpanTask& task,
                                  float* triangle, float* sums) {
  read_block(block, s, task, triangle, sums);
  const float threshold =
      quantile_of(block, s.quantile, s.largest, triangle, row_start(task.n), task.level,
                  [&](int t) { add_votes(s, task, triangle, sums, t); });
  find_scores(block, task.n, threshold, triangle, sums);
  find_candidates(block, s, task.n, sums);
  const int spans = keep_spans(block, s, task);
  count_tokens(block, s, task, spans, triangle);
  // The sums are no longer needed, so take_tokens() can use their memory as scratch.
  const bool room = int64_t{task.most_spans} * task.most_tokens <= int64_t{row_start(task.n)};
  take_tokens(block, s, task, spans,
              room ? reinterpret_cast<int32_t*>(sums) : SpanScratch(task.scratch, task.n).by_rank);
}

}  // namespace longhaul::cuda
