#pragma once
// How a block of tokens is divided into spans, and which of its tokens stand for them
// (ops/span_division.h, ops/span_vectors.h), by one block of threads in phases (block.h). Sums are
// the host's, in the host's order, but for those of span_ratio().

#include <cmath>

#include "ops/cuda/select_phases.h"

namespace longhaul::cuda {

inline constexpr int kMostSpanTokens = 512;  ///< of a block: each midpoint has a thread

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
  int32_t* out = nullptr;               ///< as SpanTokens (ops/span_vectors.h)
  std::byte* scratch = nullptr;         ///< span_scratch_bytes(), aligned to 8 bytes
};

/// Parts of the scratch.
struct SpanScratch {
  double* parts;       ///< [most_spans, n, 3]: own, before, after
  float* sums;         ///< [n, n]
  float* scores;       ///< [n, n]
  float* triangle;     ///< [n (n + 1) / 2]
  float* votes;        ///< [n]
  SpanRecord* kept;    ///< [most_spans]
  int32_t* counts;     ///< [most_spans]
  int32_t* positions;  ///< [most_spans, n]: of tokens that are taken, from 1 on

  LH_BOTH static int64_t part_numbers(int n, int spans) { return int64_t{3} * spans * n; }
  LH_BOTH SpanScratch(std::byte* memory, int n, int spans) {
    parts = reinterpret_cast<double*>(memory);
    sums = reinterpret_cast<float*>(parts + part_numbers(n, spans));
    scores = sums + int64_t{n} * n;
    triangle = scores + int64_t{n} * n;
    votes = triangle + int64_t{n} * (n + 1) / 2;
    kept = reinterpret_cast<SpanRecord*>(votes + n);
    counts = reinterpret_cast<int32_t*>(kept + spans);
    positions = counts + spans;
  }
};
LH_BOTH int64_t span_scratch_bytes(int n, int spans) {
  const int64_t numbers =
      int64_t{2} * n * n + int64_t{n} * (n + 1) / 2 + n + int64_t{spans} * (4 + n);
  const int64_t bytes = 8 * SpanScratch::part_numbers(n, spans) + 4 * numbers;
  return (bytes + 255) / 256 * 256;
}

struct SpanShared {
  SelectShared select;
  SpanRecord candidates[2 * kMostSpanTokens];
  int16_t order[2 * kMostSpanTokens];  ///< the best candidates of a tournament; below 0: none
  bool out[2 * kMostSpanTokens];       ///< candidates that stayed or may not
  float threshold;
  int32_t spans;
};

LH_BOTH float float_of_key(uint32_t key) {
  const uint32_t u = (key & 0x80000000u) != 0 ? key & 0x7fffffffu : ~key;
  float x;
#ifdef __CUDA_ARCH__
  x = __uint_as_float(u);
#else
  std::memcpy(&x, &u, sizeof x);
#endif
  return x;
}

/// a + b * c, rounded twice.
LH_BOTH float sum_of_product(float a, float b, float c) {
#ifdef __CUDA_ARCH__
  return __fadd_rn(a, __fmul_rn(b, c));
#else
  return a + b * c;
#endif
}

/// The quantile of the map's lower triangle to s.threshold.
template <class Block>
LH_PHASES void find_threshold(const Block& block, SpanShared& s, const SpanTask& task,
                              const SpanScratch& scratch) {
  const int n = task.n;
  const int64_t entries = int64_t{n} * (n + 1) / 2;
  block.each([&](int t) {
    for (int64_t at = t; at < int64_t{n} * n; at += kBlockThreads) {
      const int64_t i = at / n, j = at % n;
      if (j <= i) scratch.triangle[i * (i + 1) / 2 + j] = task.map[i * task.stride + j];
    }
  });
  const double rank = task.level * static_cast<double>(entries - 1);
  const auto below = static_cast<int64_t>(rank);
  const auto k = static_cast<uint32_t>(entries - below);  // as many are not lower
  find_cut(block, s.select, scratch.triangle, entries, k);
  const float low = float_of_key(s.select.prefix);
  const bool last = below + 1 == entries, same = s.select.left > 1;
  block.each([&](int) {});  // all have read before the next search writes
  float high = low;
  if (!last && !same) {
    find_cut(block, s.select, scratch.triangle, entries, k - 1);
    high = float_of_key(s.select.prefix);
  }
  block.each([&](int t) {
    if (t != 0) return;
    const auto share = static_cast<float>(rank - static_cast<double>(below));
    s.threshold = last ? low : sum_of_product(low, share, high - low);
  });
}

/// The best span of each midpoint.
template <class Block>
LH_PHASES void find_candidates(const Block& block, SpanShared& s, const SpanTask& task,
                               const SpanScratch& scratch) {
  const int n = task.n;
  // scores[x, y] = scores[x, y - 1] + sum of row y over columns [x, y].
  block.each([&](int t) {
    for (int y = t; y < n; y += kBlockThreads) {
      float row = 0;
      for (int x = y; x >= 0; --x) {
        row += task.map[int64_t{y} * task.stride + x] - s.threshold;
        scratch.sums[int64_t{y} * n + x] = row;
      }
    }
  });
  block.each([&](int t) {
    for (int x = t; x < n; x += kBlockThreads) {
      float sum = 0;
      for (int y = x; y < n; ++y) {
        sum += scratch.sums[int64_t{y} * n + x];
        scratch.scores[int64_t{y} * n + x] = sum;
      }
    }
  });
  block.each([&](int t) {
    for (int middle = t; middle < 2 * n - 1; middle += kBlockThreads) {
      SpanRecord best{0, 0, 0};
      const int least = middle - n + 1 > 0 ? middle - n + 1 : 0;
      for (int x = middle / 2; x >= least; --x) {
        const int y = middle - x;
        const float score = scratch.scores[int64_t{y} * n + x];
        if (best.end == 0 || score > best.score) best = {x, y + 1, score};
      }
      s.candidates[middle] = best;
      s.out[middle] = false;
    }
  });
}

LH_BOTH float iou_of(const SpanRecord& a, const SpanRecord& b) {
  const int both = (a.end < b.end ? a.end : b.end) - (a.begin > b.begin ? a.begin : b.begin);
  if (both <= 0) return 0;
  const int la = a.end - a.begin, lb = b.end - b.begin;
  return static_cast<float>(both * both) / static_cast<float>(la * la + lb * lb - both * both);
}

/// The candidates that stay, from the best down, to scratch.kept; how many to s.spans.
template <class Block>
LH_PHASES void keep_spans(const Block& block, SpanShared& s, const SpanTask& task,
                          const SpanScratch& scratch) {
  const int count = 2 * task.n - 1;
  block.each([&](int t) {
    if (t == 0) s.spans = 0;
  });
  for (int round = 0; round < task.most_spans; ++round) {
    block.each([&](int t) { s.order[t] = static_cast<int16_t>(t < count && !s.out[t] ? t : -1); });
    for (int step = kBlockThreads / 2; step > 0; step /= 2) {
      block.each([&](int t) {
        if (t >= step) return;
        const int a = s.order[t], b = s.order[t + step];
        if (b < 0) return;
        const uint32_t x = a < 0 ? 0 : order_key(s.candidates[a].score);
        const uint32_t y = order_key(s.candidates[b].score);
        if (a < 0 || y > x || (y == x && b < a)) s.order[t] = static_cast<int16_t>(b);
      });
    }
    const int best = s.order[0];
    if (best < 0) break;  // all threads alike
    block.each([&](int t) {
      if (t == 0) scratch.kept[s.spans++] = s.candidates[best];
      if (t >= count) return;
      if (t == best || iou_of(s.candidates[t], s.candidates[best]) > task.most_iou) s.out[t] = true;
    });
  }
}

/// How many tokens each span gets, to scratch.counts.
template <class Block>
LH_PHASES void count_tokens(const Block& block, const SpanShared& s, const SpanTask& task,
                            const SpanScratch& scratch) {
  const int n = task.n;
  block.each([&](int t) {
    for (int at = t; at < s.spans * n; at += kBlockThreads) {
      const SpanRecord span = scratch.kept[at / n];
      const int i = at % n;
      const float* const row = task.map + int64_t{i} * task.stride;
      double own = 0, before = 0, after = 0;
      if (i >= span.begin && i < span.end) {
        for (int j = 0; j < span.begin; ++j) before += static_cast<double>(row[j]);
        for (int j = span.begin; j <= i; ++j) own += static_cast<double>(row[j]);
      } else if (i >= span.end) {
        for (int j = span.begin; j < span.end; ++j) after += static_cast<double>(row[j]);
      }
      double* const parts = scratch.parts + int64_t{3} * at;
      parts[0] = own, parts[1] = before, parts[2] = after;
    }
  });
  block.each([&](int t) {
    for (int j = t; j < s.spans; j += kBlockThreads) {
      double own = 0, other = 0;
      for (int i = 0; i < n; ++i) {
        const double* const parts = scratch.parts + int64_t{3} * (int64_t{j} * n + i);
        own += parts[0];
        other += (task.before ? parts[1] : 0.0) + (task.after ? parts[2] : 0.0);
      }
      const float ratio = other > own ? static_cast<float>(own / other) : 1.0f;
      const int length = scratch.kept[j].end - scratch.kept[j].begin;
      const float share = expf(-task.lambda * (1.0f - ratio));
      const float wanted = ceilf(static_cast<float>(length) * share);
      int count = wanted < static_cast<float>(length) ? static_cast<int>(wanted) : length;
      count = count < task.most_tokens ? count : task.most_tokens;
      scratch.counts[j] = count > 1 ? count : 1;
    }
  });
}

/// Of every span the tokens with most votes, of equal ones the first; ascending.
template <class Block>
LH_PHASES void take_tokens(const Block& block, const SpanShared& s, const SpanTask& task,
                           const SpanScratch& scratch) {
  const int n = task.n;
  block.each([&](int t) {
    for (int at = t; at < s.spans * n; at += kBlockThreads) {
      const SpanRecord span = scratch.kept[at / n];
      const int i = at % n;
      bool taken = false;
      if (i >= span.begin && i < span.end) {
        const uint32_t own = order_key(scratch.votes[i]);
        int before = 0;
        for (int j = span.begin; j < span.end; ++j) {
          const uint32_t key = order_key(scratch.votes[j]);
          before += key > own || (key == own && j < i) ? 1 : 0;
        }
        taken = before < scratch.counts[at / n];
      }
      scratch.positions[at] = taken ? 1 : 0;
    }
  });
  const int most = task.most_spans * task.most_tokens;
  int32_t *const ends = task.out + 1, *const tokens = ends + task.most_spans;
  block.each([&](int t) {
    for (int i = t; i < most; i += kBlockThreads) tokens[i] = 0;
    if (t != 0) return;
    task.out[0] = s.spans;
    int32_t end = 0;
    for (int j = 0; j < task.most_spans; ++j) {
      if (j < s.spans) end += scratch.counts[j];
      ends[j] = end;
    }
  });
  block.each([&](int t) {
    for (int at = t; at < s.spans * n; at += kBlockThreads) {
      if (scratch.positions[at] == 0) continue;
      const int j = at / n, i = at % n;
      int place = j == 0 ? 0 : ends[j - 1];
      for (int b = scratch.kept[j].begin; b < i; ++b) place += scratch.positions[j * n + b];
      tokens[place] = i;
    }
  });
}

template <class Block>
LH_PHASES void choose_span_tokens(const Block& block, SpanShared& s, const SpanTask& task) {
  const SpanScratch scratch(task.scratch, task.n, task.most_spans);
  block.each([&](int t) {
    for (int j = t; j < task.n; j += kBlockThreads) {
      float sum = 0;
      if (task.votes == nullptr) {
        for (int i = j; i < task.n; ++i) sum += task.map[int64_t{i} * task.stride + j];
      } else {
        for (int h = 0; h < task.heads; ++h) sum += task.votes[int64_t{j} * task.heads + h];
      }
      scratch.votes[j] = sum;
    }
  });
  find_threshold(block, s, task, scratch);
  find_candidates(block, s, task, scratch);
  keep_spans(block, s, task, scratch);
  count_tokens(block, s, task, scratch);
  take_tokens(block, s, task, scratch);
}

}  // namespace longhaul::cuda
