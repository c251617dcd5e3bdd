#include <cuda_runtime.h>

#include <cstring>

#include "attention/methods/expectedattention/expected_attention.gpu.h"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/core/gpu/reductions.cuh"
#include "ops/maps/score_plan.h"
#include "ops/maps/stored_keys.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kMostDim = 256;
constexpr int kKeys = 64;     ///< number of keys per thread block
constexpr int kTerms = 64;    ///< rows of the quadratic coefficients per step
constexpr int kColumns = 32;  ///< columns of the quadratic coefficients per step
constexpr int kKeyPitch = kKeys + 4;

/// The arguments from which the linear and quadratic coefficients of the logits are computed.
struct TermArgs {
  const float* origin;  ///< [heads, head_dim]
  const double *sums, *products;
  const double *cosine, *sine;  ///< [half]
  float *linear, *quadratic;    ///< [head_count, head_dim], [head_count, head_dim, head_dim]
  double rows, scale;
  int32_t head_begin, head_dim, half;
};

/// Computes the linear and quadratic coefficients. There is one thread block per head. The
/// symmetric quadratic matrix is stored as a lower triangle, in which elements below the diagonal
/// are doubled.
__global__ void __launch_bounds__(kThreads) terms_kernel(const __grid_constant__ TermArgs a) {
  __shared__ double mean[kMostDim];
  const int dim = a.head_dim, half = a.half, t = static_cast<int>(threadIdx.x);
  const int64_t at = blockIdx.x, head = a.head_begin + at;
  if (t < dim) mean[t] = a.sums[head * dim + t] / a.rows;
  __syncthreads();
  // Element i of a rotated vector x is factor(i) x[i] + other(i) x[partner(i)].
  const auto factor = [&](int i) { return i < 2 * half ? a.cosine[i % half] : 1.0; };
  const auto other = [&](int i) {
    return i < half ? -a.sine[i] : i < 2 * half ? a.sine[i - half] : 0.0;
  };
  const auto partner = [&](int i) { return i < half ? i + half : i < 2 * half ? i - half : i; };
  if (t < dim) {
    const auto full = [&](int i) {
      return mean[i] + static_cast<double>(a.origin[head * dim + i]);
    };
    const double rotated = factor(t) * full(t) + other(t) * full(partner(t));
    a.linear[at * dim + t] = static_cast<float>(a.scale * rotated);
  }
  if (a.products == nullptr) return;
  const double* const products = a.products + head * dim * dim;
  const auto covariance = [&](int i, int j) {
    return products[i * dim + j] / a.rows - mean[i] * mean[j];
  };
  const auto rotated = [&](int i, int j) {
    const int pi = partner(i), pj = partner(j);
    return factor(i) * (factor(j) * covariance(i, j) + other(j) * covariance(i, pj)) +
           other(i) * (factor(j) * covariance(pi, j) + other(j) * covariance(pi, pj));
  };
  const double weight = a.scale * a.scale / 2;
  for (int e = t; e < dim * dim; e += kThreads) {
    const int i = e / dim, j = e % dim;
    double both = 0;
    if (j <= i) both = i == j ? rotated(i, i) : rotated(i, j) + rotated(j, i);
    a.quadratic[at * dim * dim + e] = static_cast<float>(weight * both);
  }
}

struct LogitArgs {
  StoredRows keys;
  int64_t first_row, count;
  const float *linear, *quadratic;  ///< as in TermArgs; `quadratic` may be null
  float* logits;                    ///< [head_count, count]
};

/// Computes logits, with one thread block per 64 keys (x) and query head (y). Each thread computes
/// 4 x 4 dot products of rows of the quadratic coefficients and keys.
__global__ void __launch_bounds__(kThreads) logits_kernel(const __grid_constant__ LogitArgs a) {
  extern __shared__ __align__(16) float keys[];  // [head_dim rounded up to 64, kKeyPitch]
  __shared__ float terms[kTerms][kColumns + 1], sums[16][kKeys];
  const int dim = a.keys.head_dim, padded = (dim + kTerms - 1) / kTerms * kTerms;
  const int t = static_cast<int>(threadIdx.x), x = t % 16 * 4, y = t / 16 * 4;
  const int64_t first = blockIdx.x * int64_t{kKeys}, head = blockIdx.y;
  for (int e = t; e < kKeys * padded; e += kThreads) {
    const int n = e / padded, element = e % padded;
    const bool there = first + n < a.count && element < dim;
    keys[element * kKeyPitch + n] =
        there ? a.keys.at(a.keys.row(a.first_row + first + n), element) : 0.0f;
  }
  __syncthreads();
  float logit[4] = {};
  for (int i0 = 0; i0 < dim; i0 += kTerms) {
    float sum[4][4] = {};
    // Coefficients to the right of the diagonal are zero.
    for (int j0 = 0; a.quadratic != nullptr && j0 < i0 + kTerms && j0 < dim; j0 += kColumns) {
      __syncthreads();
      for (int e = t; e < kTerms * kColumns; e += kThreads) {
        const int i = i0 + e / kColumns, j = j0 + e % kColumns;
        const bool there = i < dim && j < dim;
        terms[e / kColumns][e % kColumns] = there ? a.quadratic[(head * dim + i) * dim + j] : 0.0f;
      }
      __syncthreads();
#pragma unroll 4
      for (int j = 0; j < kColumns; ++j) {
        const float4 v = *reinterpret_cast<const float4*>(keys + (j0 + j) * kKeyPitch + x);
        const float vs[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float u = terms[y + i][j];
#pragma unroll
          for (int k = 0; k < 4; ++k) sum[i][k] = fmaf(u, vs[k], sum[i][k]);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float linear = i0 + y + i < dim ? a.linear[head * dim + i0 + y + i] : 0.0f;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        logit[k] = fmaf(keys[(i0 + y + i) * kKeyPitch + x + k], linear + sum[i][k], logit[k]);
      }
    }
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) sums[y / 4][x + k] = logit[k];
  __syncthreads();
  if (t >= kKeys || first + t >= a.count) return;
  float all = 0;
  for (int g = 0; g < 16; ++g) all += sums[g][t];
  a.logits[head * a.count + first + t] = all;
}

/// Replaces logits by their softmax, with one thread block per head.
__global__ void __launch_bounds__(1024) softmax_rows_kernel(float* logits, int64_t count) {
  __shared__ float tops[32];
  __shared__ double sums[32];
  float* const x = logits + blockIdx.x * count;
  float top = -INFINITY;
  for (int64_t j = threadIdx.x; j < count; j += 1024) top = fmaxf(top, x[j]);
  top = block_result<false>(top, tops);
  double sum = 0;
  for (int64_t j = threadIdx.x; j < count; j += 1024) {
    x[j] = expf(x[j] - top);
    sum += static_cast<double>(x[j]);
  }
  const auto inverse = static_cast<float>(1 / block_result<true>(sum, sums));
  for (int64_t j = threadIdx.x; j < count; j += 1024) x[j] *= inverse;
}

struct ScoreKeysArgs {
  StoredRows values;
  int64_t first_row, count;
  const float* attention;  ///< [heads, count]
  float* scores;
  float epsilon;
  int32_t heads;
  bool by_value;
};

/// Computes scores: the mean of the attention over the heads, multiplied by the norm of the value.
/// There is one warp per key.
__global__ void __launch_bounds__(kThreads)
    score_keys_kernel(const __grid_constant__ ScoreKeysArgs a) {
  const int64_t j = blockIdx.x * int64_t{kThreads / 32} + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (j >= a.count) return;
  float square = 0;
  if (a.by_value) {
    const std::byte* const row = a.values.row(a.first_row + j);
    for (int t = lane; t < a.values.head_dim; t += 32) {
      const float x = a.values.at(row, t);
      square = fmaf(x, x, square);
    }
    square = warp_sum(square);
  }
  if (lane != 0) return;
  float sum = 0;
  for (int h = 0; h < a.heads; ++h) sum += a.attention[h * a.count + j];
  const float mean = sum / static_cast<float>(a.heads);
  a.scores[j] = a.by_value ? (mean + a.epsilon) * sqrtf(square) : mean;
}

}  // namespace

bool expected_attention(Stream stream, const ExpectedQueries& queries, const PagedRows& rows,
                        int64_t first_row, int head_begin, int head_count, View<float> scores,
                        ScoreScratch& scratch) {
  const QueryMoments& m = *queries.moments;
  const int64_t count = scores.size();
  const int dim = rows.head_dim;
  if (!can_read(rows) || dim > kMostDim || scores.place().host()) return false;
  if (m.sums.view().place().host()) return false;
  LH_ASSERT(queries.positions > 0 && queries.rope->rotary_dim() <= dim);
  LH_ASSERT(m.sums.size() >= int64_t{head_begin + head_count} * dim);
  if (count == 0) return true;

  const AverageRotation rotation(*queries.rope, queries.first, queries.positions);
  const size_t half = rotation.cosine.size(), bytes = half * sizeof(double);
  const ScoreScratch::Plan plan = scratch.begin(2 * bytes);
  std::memcpy(plan.host, rotation.cosine.data(), bytes);
  std::memcpy(plan.host + bytes, rotation.sine.data(), bytes);
  scratch.send(stream, plan);

  const bool covariance = m.products.size() > 0;
  const int64_t linear = int64_t{head_count} * dim, quadratic = covariance ? linear * dim : 0;
  auto* const room = reinterpret_cast<float*>(scratch.room(
      static_cast<size_t>(linear + quadratic + int64_t{head_count} * count) * sizeof(float)));
  float* const logits = room + linear + quadratic;

  TermArgs terms{};
  terms.origin = m.origin.view().address();
  terms.sums = m.sums.view().address();
  terms.products = covariance ? m.products.view().address() : nullptr;
  terms.cosine = reinterpret_cast<const double*>(plan.device);
  terms.sine = terms.cosine + half;
  terms.linear = room;
  terms.quadratic = room + linear;
  terms.rows = static_cast<double>(m.rows > 1 ? m.rows : 1);
  terms.scale = static_cast<double>(queries.scale);
  terms.head_begin = head_begin;
  terms.head_dim = dim;
  terms.half = static_cast<int32_t>(half);
  const auto heads = static_cast<unsigned>(head_count);
  terms_kernel<<<heads, kThreads, 0, stream>>>(terms);
  check_launch("expected_terms");

  const StoredRows keys = keys_of(rows);
  const LogitArgs args{keys, first_row, count, room, covariance ? room + linear : nullptr, logits};
  const int shared =
      (dim + kTerms - 1) / kTerms * kTerms * kKeyPitch * static_cast<int>(sizeof(float));
  check(cudaFuncSetAttribute(logits_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
        "shared memory of expected_logits");
  const dim3 grid(static_cast<unsigned>((count + kKeys - 1) / kKeys), heads);
  logits_kernel<<<grid, kThreads, static_cast<size_t>(shared), stream>>>(args);
  check_launch("expected_logits");
  softmax_rows_kernel<<<heads, 1024, 0, stream>>>(logits, count);
  check_launch("softmax_rows");

  const ScoreKeysArgs last{values_of(rows), first_row,        count,
                           logits,          scores.address(), static_cast<float>(queries.epsilon),
                           head_count,      queries.values};
  constexpr int kWarps = kThreads / 32;
  score_keys_kernel<<<static_cast<unsigned>((count + kWarps - 1) / kWarps), kThreads, 0, stream>>>(
      last);
  check_launch("score_keys");
  return true;
}

}  // namespace longhaul::cuda
