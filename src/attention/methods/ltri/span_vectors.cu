#include <cuda_runtime.h>

#include "attention/methods/ltri/span_phases.h"
#include "attention/methods/ltri/span_vectors.gpu.h"
#include "ops/core/gpu/early_launch.cuh"
#include "ops/maps/stored_keys.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kThreads = 128;

/// Runs choose_span_tokens(), with one thread block per block of tokens. If kShared is true, the
/// triangles are in shared memory.
template <bool kShared>
__global__ void __launch_bounds__(kBlockThreads)
    choose_kernel(const __grid_constant__ SpanTasks tasks) {
  extern __shared__ float triangles[];
  __shared__ SpanShared shared;
  const SpanTask task = tasks.of(blockIdx.x);
  await_turn();
  if constexpr (kShared) {
    choose_span_tokens(CudaBlock{}, shared, task, triangles, triangles + row_start(task.n));
  } else {
    const SpanScratch scratch(task.scratch, task.n);
    choose_span_tokens(CudaBlock{}, shared, task, scratch.triangle, scratch.sums);
  }
}

/// Copies keys, with one thread block per key of the result.
__global__ void __launch_bounds__(kThreads)
    gather_kernel(StoredRows keys, const PageTable* lists, int count, int64_t first, int block,
                  TokenRecords tokens, float* out) {
  await_turn();
  const int64_t b = blockIdx.x / static_cast<unsigned>(tokens.most);
  const int place = static_cast<int>(blockIdx.x % static_cast<unsigned>(tokens.most));
  const int32_t* const record = tokens.of(b);
  const bool there = place < tokens.count(record);
  const int64_t row = first + b * block + (there ? tokens.tokens(record)[place] : 0);
  float* const to = out + int64_t{blockIdx.x} * count * keys.head_dim;
  for (int l = 0; l < count; ++l) {
    keys.pages = lists[l];
    const std::byte* const from = there ? keys.row(row) : nullptr;
    for (int t = static_cast<int>(threadIdx.x); t < keys.head_dim; t += kThreads) {
      to[l * keys.head_dim + t] = there ? keys.at(from, t) : 0.0f;
    }
  }
}

/// Computes means, with one thread block per possible span of a block of tokens. Keys are added in
/// the order of tokens.
__global__ void __launch_bounds__(kThreads)
    mean_kernel(TokenRecords tokens, const float* keys, int width, int32_t* one, float* means) {
  await_turn();
  const int64_t b = blockIdx.x / static_cast<unsigned>(tokens.spans);
  const int span = static_cast<int>(blockIdx.x % static_cast<unsigned>(tokens.spans));
  const int32_t* const record = tokens.of(b);
  const int count = record[0];
  const int begin = span == 0 ? 0 : record[span];
  const int length = span < count ? record[1 + span] - begin : 0;
  if (threadIdx.x == 0) {
    int32_t* const to = one + b * (1 + 2 * int64_t{tokens.spans});
    if (span == 0) to[0] = count;
    to[1 + span] = min(span + 1, count);
    to[1 + tokens.spans + span] = length > 0 ? tokens.tokens(record)[begin] : 0;
  }
  const float* const first = keys + (b * tokens.most + begin) * width;
  for (int t = static_cast<int>(threadIdx.x); t < width; t += kThreads) {
    float sum = 0;
    for (int i = 0; i < length; ++i) sum += first[int64_t{i} * width + t];
    means[int64_t{blockIdx.x} * width + t] =
        length > 0 ? __fdiv_rn(sum, static_cast<float>(length)) : 0.0f;
  }
}

/// Returns element t of a row's query vector.
__device__ __forceinline__ float query_at(const QueryForm& queries, int64_t row, int t) {
  const float* const q = queries.q + row * queries.heads * queries.head_dim;
  if (queries.head >= 0) return q[queries.head * queries.head_dim + t];
  const int group = queries.heads / queries.kv_heads;
  const int first = t / queries.head_dim * group;
  float sum = 0;
  for (int h = 0; h < group; ++h) {
    sum += q[(first + h) * queries.head_dim + t % queries.head_dim];
  }
  return sum;
}

/// Writes query vectors, with one thread block per possible vector. The vectors that are used are
/// contiguous.
__global__ void __launch_bounds__(kThreads)
    span_queries_kernel(QueryForm queries, int block, TokenRecords tokens, float* to,
                        int32_t* count) {
  await_turn();
  const int64_t b = blockIdx.x / static_cast<unsigned>(tokens.most);
  const int place = static_cast<int>(blockIdx.x % static_cast<unsigned>(tokens.most));
  const auto used = [&](int64_t of) {
    const int32_t* const record = tokens.of(of);
    return queries.sum_of_span ? record[0] : tokens.count(record);
  };
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    int32_t all = 0;
    for (int64_t of = 0; of < tokens.blocks; ++of) all += used(of);
    *count = all;
  }
  if (place >= used(b)) return;
  int64_t at = place;
  for (int64_t of = 0; of < b; ++of) at += used(of);
  const int32_t* const record = tokens.of(b);
  const int begin = !queries.sum_of_span ? place : place == 0 ? 0 : record[place];
  const int end = queries.sum_of_span ? record[1 + place] : place + 1;
  const int width = queries.width();
  for (int t = static_cast<int>(threadIdx.x); t < width; t += kThreads) {
    float sum = query_at(queries, b * block + tokens.tokens(record)[begin], t);
    for (int i = begin + 1; i < end; ++i) {
      sum += query_at(queries, b * block + tokens.tokens(record)[i], t);
    }
    to[at * width + t] = sum;
  }
}

__global__ void __launch_bounds__(kThreads)
    row_queries_kernel(QueryForm queries, int64_t begin, float* to, int32_t* count) {
  await_turn();
  const int width = queries.width();
  for (int t = static_cast<int>(threadIdx.x); t < width; t += kThreads) {
    to[int64_t{blockIdx.x} * width + t] = query_at(queries, begin + blockIdx.x, t);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) *count = static_cast<int32_t>(gridDim.x);
}

}  // namespace

void choose_span_tokens(Stream stream, const SpanTasks& tasks) {
  if (tasks.tokens <= 0) return;
  const bool in_shared = tasks.first.stride <= kSharedSpanTokens;
  const auto kernel = in_shared ? choose_kernel<true> : choose_kernel<false>;
  constexpr int kMostBytes = 2 * row_start(kSharedSpanTokens) * int{sizeof(float)};
  // The GPUs with the least shared memory have 99 KB.
  static_assert(kMostBytes + sizeof(SpanShared) <= 99 * 1024);
  if (in_shared) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMostBytes),
          "shared memory of choose_span_tokens");
  }
  launch_early(stream, "choose_span_tokens", kernel, static_cast<unsigned>(tasks.blocks()),
               kBlockThreads, in_shared ? size_t{kMostBytes} : 0, tasks);
}

void gather_span_keys(Stream stream, const KvForm& form, const PageTable* lists, int count,
                      int64_t first, int block, const TokenRecords& tokens, float* keys) {
  const int64_t places = tokens.blocks * tokens.most;
  if (places <= 0) return;
  launch_early(stream, "gather_span_keys", gather_kernel, static_cast<unsigned>(places), kThreads,
               0, keys_of(form), lists, count, first, block, tokens, keys);
}

void mean_of_spans(Stream stream, const TokenRecords& tokens, const float* keys, int width,
                   int32_t* one, float* means) {
  const int64_t all = tokens.blocks * tokens.spans;
  if (all <= 0) return;
  launch_early(stream, "mean_of_spans", mean_kernel, static_cast<unsigned>(all), kThreads, 0,
               tokens, keys, width, one, means);
}

void span_queries(Stream stream, const QueryForm& queries, int block, const TokenRecords& tokens,
                  float* to, int32_t* count) {
  const int64_t places = tokens.blocks * tokens.most;
  if (places <= 0) return;
  launch_early(stream, "span_queries", span_queries_kernel, static_cast<unsigned>(places), kThreads,
               0, queries, block, tokens, to, count);
}

void row_queries(Stream stream, const QueryForm& queries, int64_t begin, int64_t end, float* to,
                 int32_t* count) {
  if (begin >= end) return;
  launch_early(stream, "row_queries", row_queries_kernel, static_cast<unsigned>(end - begin),
               kThreads, 0, queries, begin, to, count);
}

}  // namespace longhaul::cuda
