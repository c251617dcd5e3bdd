#include "base/assert.h"
#include "ops/core/gpu/over_elements.cuh"
#include "ops/core/gpu/reductions.cuh"
#include "ops/matmul/experts.gpu.h"

namespace longhaul::cuda {
namespace {

constexpr int kWarps = 8;  // per thread block; one row each

struct Candidate {
  float score;
  int expert;  // -1: none
};

__device__ bool comes_before(const Candidate& a, const Candidate& b) {
  if (a.expert < 0 || b.expert < 0) return b.expert < 0 && a.expert >= 0;
  return a.score > b.score || (!(a.score < b.score) && a.expert < b.expert);
}

__device__ Candidate best_of_warp(Candidate mine) {
  for (int d = 16; d > 0; d /= 2) {
    const Candidate other{__shfl_xor_sync(~0u, mine.score, d),
                          __shfl_xor_sync(~0u, mine.expert, d)};
    if (comes_before(other, mine)) mine = other;
  }
  return mine;
}

__device__ float sigmoid(float x) { return 1 / (1 + expf(-x)); }

/// The scores of a row by which its experts are chosen.
struct RowScores {
  const float* logits;
  const ExpertRule& rule;
  float top = 0, sum = 1;   ///< softmax terms, if scores are probabilities
  uint64_t groups = ~0ull;  ///< bit g: experts of group g may be chosen

  /// Logits order experts as scores do, unless scores are changed or added.
  __device__ bool by_logits() const { return rule.choice_bias == nullptr && rule.groups == 1; }
  __device__ float at(int expert) const {
    if (by_logits()) return logits[expert];
    const float score = rule.sigmoid ? sigmoid(logits[expert]) : expf(logits[expert] - top) / sum;
    return rule.choice_bias == nullptr ? score : score + rule.choice_bias[expert];
  }
  __device__ bool bars(int expert, int group_size) const {
    return rule.groups > 1 && (groups >> expert / group_size & 1) == 0;
  }
};

__device__ void sum_softmax(RowScores& row, int experts) {
  float top = -INFINITY, sum = 0;
  for (int e = threadIdx.x; e < experts; e += 32) top = fmaxf(top, row.logits[e]);
  top = warp_max(top);
  for (int e = threadIdx.x; e < experts; e += 32) sum += expf(row.logits[e] - top);
  row.top = top;
  row.sum = warp_sum(sum);
}

/// Keeps the best groups. At most 64 groups: each lane has the scores of two.
__device__ void choose_groups(RowScores& row, int experts) {
  const int lane = threadIdx.x, size = experts / row.rule.groups;
  float own[2] = {0, 0};
  for (int g = 0; g < row.rule.groups; ++g) {
    float best = -INFINITY, next = -INFINITY;
    for (int e = lane; e < size; e += 32) {
      const float score = row.at(g * size + e);
      next = fmaxf(next, fminf(best, score));
      best = fmaxf(best, score);
    }
    for (int d = 16; d > 0; d /= 2) {
      const float of_best = __shfl_xor_sync(~0u, best, d), of_next = __shfl_xor_sync(~0u, next, d);
      next = fmaxf(fminf(best, of_best), fmaxf(next, of_next));
      best = fmaxf(best, of_best);
    }
    if (lane == g % 32) own[g / 32] = row.rule.best_of_group || size == 1 ? best : best + next;
  }
  row.groups = 0;
  for (int i = 0; i < row.rule.groups_used; ++i) {
    Candidate best{0, -1};
    for (int half = 0; half < 2; ++half) {
      const int group = 32 * half + lane;
      if (group >= row.rule.groups || (row.groups >> group & 1) != 0) continue;
      const Candidate here{own[half], group};
      if (comes_before(here, best)) best = here;
    }
    row.groups |= 1ull << best_of_warp(best).expert;
  }
}

/// One warp per row. It takes the largest remaining score `used` times, then sorts them.
__global__ void __launch_bounds__(32 * kWarps)
    choose_kernel(const float* logits, int64_t rows, int experts, int used, ExpertRule rule,
                  ExpertChoice* chosen) {
  __shared__ uint32_t taken_of[kWarps][kMostExperts / 32];
  const int64_t row = blockIdx.x * int64_t{kWarps} + threadIdx.y;
  if (row >= rows) return;
  const int lane = threadIdx.x, words = (experts + 31) / 32;
  logits += row * experts;
  chosen += row * used;
  uint32_t* const taken = taken_of[threadIdx.y];
  for (int w = lane; w < words; w += 32) taken[w] = 0;
  __syncwarp();
  RowScores scores{logits, rule};
  if (!scores.by_logits() && !rule.sigmoid) sum_softmax(scores, experts);
  if (rule.groups > 1) choose_groups(scores, experts);
  const int group_size = experts / rule.groups;
  float top = scores.top;
  for (int i = 0; i < used; ++i) {
    Candidate best{0, -1};
    for (int w = 0; w < words; ++w) {
      const int expert = 32 * w + lane;
      if (expert >= experts || (taken[w] >> lane & 1) != 0) continue;
      if (scores.bars(expert, group_size)) continue;
      const Candidate here{scores.at(expert), expert};
      if (comes_before(here, best)) best = here;
    }
    best = best_of_warp(best);
    if (i == 0 && scores.by_logits()) top = logits[best.expert];
    __syncwarp();
    if (lane == 0) taken[best.expert / 32] |= 1u << best.expert % 32;
    __syncwarp();
  }
  const auto weight = [&](int e) {
    return rule.sigmoid ? sigmoid(logits[e]) : expf(logits[e] - top);
  };
  float sum = 0;
  for (int e = lane; e < experts; e += 32) {
    if (rule.among_chosen && (taken[e / 32] >> lane & 1) == 0) continue;
    sum += weight(e);
  }
  sum = rule.sigmoid && !rule.among_chosen ? 1 : warp_sum(sum);
  int before = 0;
  for (int w = 0; w < words; ++w) {
    if ((taken[w] >> lane & 1) != 0) {
      const int at = before + __popc(taken[w] & ((1u << lane) - 1));
      const int expert = 32 * w + lane;
      const float scale = rule.expert_scales == nullptr ? 1 : rule.expert_scales[expert];
      chosen[at] = {expert, weight(expert) / sum * rule.scale * scale};
    }
    before += __popc(taken[w]);
  }
}

constexpr int kSortThreads = 256;

/// Returns the sum over the thread block to every thread, and in `before` that of lower threads.
__device__ int count_of_block(bool mine, int& before) {
  __shared__ int of_warp[kSortThreads / 32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const uint32_t votes = __ballot_sync(~0u, mine);
  __syncthreads();  // barrier: the previous call's sums have been read
  if (lane == 0) of_warp[warp] = __popc(votes);
  __syncthreads();
  int all = 0;
  before = __popc(votes & ((1u << lane) - 1));
  for (int w = 0; w < kSortThreads / 32; ++w) {
    if (w < warp) before += of_warp[w];
    all += of_warp[w];
  }
  return all;
}

/// One thread block per expert. It reads all choices twice.
__global__ void __launch_bounds__(kSortThreads)
    sort_kernel(const ExpertChoice* chosen, int64_t count, int32_t* order, int32_t* places,
                int32_t* begins) {
  const int expert = static_cast<int>(blockIdx.x);
  __shared__ int smaller;
  if (threadIdx.x == 0) smaller = 0;
  __syncthreads();
  int mine = 0;
  for (int64_t i = threadIdx.x; i < count; i += kSortThreads) mine += chosen[i].expert < expert;
  atomicAdd(&smaller, mine);
  __syncthreads();
  int at = smaller;
  if (threadIdx.x == 0) begins[expert] = at;
  for (int64_t first = 0; first < count; first += kSortThreads) {
    const int64_t i = first + threadIdx.x;
    const bool is_own = i < count && chosen[i].expert == expert;
    int before = 0;
    const int found = count_of_block(is_own, before);
    if (is_own) {
      order[at + before] = static_cast<int32_t>(i);
      places[i] = at + before;
    }
    at += found;
  }
  if (threadIdx.x == 0 && blockIdx.x == gridDim.x - 1) begins[expert + 1] = at;
}

struct GatherOp {
  const uint16_t* x;
  int64_t n;
  const int32_t* order;
  uint32_t per_row;
  uint16_t* out;
  template <int kRun>
  __device__ void apply(int64_t row, int64_t col) const {
    const int64_t from = static_cast<uint32_t>(order[row]) / per_row;
    store_run(out + row * n + col, load_run<kRun>(x + from * n + col));
  }
};

struct AddChosenBiasOp {
  uint16_t* y;
  int64_t n;
  const int32_t* order;
  const ExpertChoice* chosen;
  const float* bias;
  template <int kRun>
  __device__ void apply(int64_t row, int64_t col) const {
    Run<kRun> sum = load_run<kRun>(y + row * n + col);
    const Run<kRun> more = load_run<kRun>(bias + chosen[order[row]].expert * n + col);
    for (int k = 0; k < kRun; ++k) sum.v[k] += more.v[k];
    store_run(y + row * n + col, sum);
  }
};

template <class In>
struct AddChoicesOp {
  const In* results;
  const int32_t* places;
  int64_t n;
  int used;
  const ExpertChoice* chosen;
  float* y;
  bool add;
  template <int kRun>
  __device__ void apply(int64_t row, int64_t col) const {
    Run<kRun> sum{};
    if (add) sum = load_run<kRun>(y + row * n + col);
    for (int64_t i = row * used; i < (row + 1) * used; ++i) {
      const float weight = chosen[i].weight;
      const Run<kRun> more = load_run<kRun>(results + (places ? places[i] : i) * n + col);
      for (int k = 0; k < kRun; ++k) sum.v[k] += weight * more.v[k];
    }
    store_run(y + row * n + col, sum);
  }
};

/// One thread block per row.
__global__ void __launch_bounds__(256)
    weigh_rows_kernel(const float* logits, int experts, const float* x, int n, float* y) {
  await_turn();
  __shared__ float tops[kMostWarps];
  logits += blockIdx.x * static_cast<int64_t>(experts);
  x += blockIdx.x * static_cast<int64_t>(n);
  y += blockIdx.x * static_cast<int64_t>(n);
  float top = -INFINITY;
  for (int e = threadIdx.x; e < experts; e += blockDim.x) top = fmaxf(top, logits[e]);
  const float weight = sigmoid(block_result<false>(top, tops));
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = weight * x[i];
}

uintptr_t at(const void* p) { return reinterpret_cast<uintptr_t>(p); }

template <class In>
void add_any(Stream stream, const In* results, const int32_t* places, int64_t rows, int used,
             int64_t n, const ExpertChoice* chosen, float* y, bool add) {
  const bool four = aligned_to(4 * sizeof(In), at(results)) && aligned_to(16, at(y));
  over_rows(stream, "add_choices", rows, n, four,
            AddChoicesOp<In>{results, places, n, used, chosen, y, add});
}

}  // namespace

void choose_experts(Stream stream, const float* logits, int64_t rows, int experts, int used,
                    const ExpertRule& rule, ExpertChoice* chosen) {
  LH_ASSERT(used >= 1 && used <= experts && experts <= kMostExperts);
  LH_ASSERT(rule.groups <= kMostExpertGroups && experts % rule.groups == 0);
  if (rows == 0) return;
  const auto grid = static_cast<unsigned>((rows + kWarps - 1) / kWarps);
  choose_kernel<<<grid, dim3(32, kWarps), 0, stream>>>(logits, rows, experts, used, rule, chosen);
  check_launch("choose_experts");
}

void sort_choices(Stream stream, const ExpertChoice* chosen, int64_t count, int experts,
                  int32_t* order, int32_t* places, int32_t* begins) {
  LH_ASSERT(count < (int64_t{1} << 31) && experts > 0);
  sort_kernel<<<static_cast<unsigned>(experts), kSortThreads, 0, stream>>>(chosen, count, order,
                                                                           places, begins);
  check_launch("sort_choices");
}

void gather_chosen(Stream stream, const uint16_t* x, int64_t n, const int32_t* order, int64_t count,
                   int per_row, uint16_t* out) {
  over_rows(stream, "gather_chosen", count, n, aligned_to(8, at(x), at(out)),
            GatherOp{x, n, order, static_cast<uint32_t>(per_row), out});
}

void add_chosen_bias(Stream stream, uint16_t* y, int64_t rows, int64_t n, const int32_t* order,
                     const ExpertChoice* chosen, const float* bias) {
  over_rows(stream, "add_chosen_bias", rows, n, aligned_to(16, at(bias)) && aligned_to(8, at(y)),
            AddChosenBiasOp{y, n, order, chosen, bias});
}

void add_choices(Stream stream, const float* results, const int32_t* places, int64_t rows, int used,
                 int64_t n, const ExpertChoice* chosen, float* y, bool add) {
  add_any(stream, results, places, rows, used, n, chosen, y, add);
}

void add_choices(Stream stream, const uint16_t* results, const int32_t* places, int64_t rows,
                 int used, int64_t n, const ExpertChoice* chosen, float* y, bool add) {
  add_any(stream, results, places, rows, used, n, chosen, y, add);
}

void weigh_rows(Stream stream, const float* logits, int experts, const float* x, int64_t rows,
                int64_t n, float* y) {
  if (rows == 0) return;
  launch_early(stream, "weigh_rows", weigh_rows_kernel, static_cast<unsigned>(rows), 256, 0, logits,
               experts, x, static_cast<int>(n), y);
}

}  // namespace longhaul::cuda
