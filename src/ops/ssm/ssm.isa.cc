// Kernels of ops/ssm/ssm_kernels.h.

#include "ops/core/isa/exponential.h"
#include "ops/core/tile_gemm.h"
#include "ops/ssm/ssm_kernels.h"

namespace longhaul::LH_ISA {
namespace {

constexpr int kSeenTogether = 16;  // rows that see earlier rows by one product

inline float silu_of(float x) { return x / (1.0f + exp_of(clamped(-x))); }

void ssm_prepare(const SsmGroup& g) {
  const int columns = (g.rows + 15) / 16 * 16;
  for (int d = 0; d < g.state; ++d) {
    for (int i = 0; i < columns; ++i) {
      g.b_turned[d * kSsmRows + i] = i < g.rows ? g.b[i * g.stride + d] : 0.0f;
    }
  }
  GemmF32::run(g.rows, columns, g.state, g.c, g.stride, g.b_turned, kSsmRows, g.pairs, kSsmRows,
               false);
}

/// Adds what rows contribute to themselves and to later rows of the chunk. `sum` holds sums of
/// decays, and `seen` is scratch memory [rows, kSsmRows].
void see_rows(const SsmHead& h, const float* sum, float* seen) {
  const SsmGroup& g = *h.group;
  for (int i = 0; i < g.rows; ++i) {
    const float* const pairs = g.pairs + i * kSsmRows;
    float* const row = seen + i * kSsmRows;
    const float own = sum[i];
#pragma omp simd
    for (int j = 0; j <= i; ++j) row[j] = pairs[j] * exp_of(clamped(own - sum[j])) * h.dt[j];
    row[i] += h.skip;
    for (int j = i + 1; j < g.rows; ++j) row[j] = 0;
  }
  for (int first = 0; first < g.rows; first += kSeenTogether) {
    const int behind = first + kSeenTogether < g.rows ? first + kSeenTogether : g.rows;
    GemmF32::run(behind - first, h.head_dim, behind, seen + first * kSsmRows, kSsmRows, h.x,
                 g.stride, h.out + first * h.out_stride, h.out_stride, true);
  }
}

/// The chunked form of the model (Dao and Gu 2024, arXiv:2405.21060, section 6).
void ssm_chunk(const SsmHead& h) {
  const SsmGroup& g = *h.group;
  const int width = h.head_dim;
  float sum[kSsmRows], kept[kSsmRows];
  float total = 0;
  for (int i = 0; i < g.rows; ++i) {
    total += h.decay[i];
    sum[i] = total;
    kept[i] = exp_of(clamped(total));
  }
  GemmF32::run(g.rows, width, g.state, g.c, g.stride, h.before, width, h.out, h.out_stride, false);
  for (int i = 0; i < g.rows; ++i) {
    float* const row = h.out + i * h.out_stride;
#pragma omp simd
    for (int c = 0; c < width; ++c) row[c] *= kept[i];
  }
  float* const scaled = h.scratch;  // [rows, head_dim]: rows as they remain at the end
  see_rows(h, sum, scaled + kSsmRows * width);
  for (int i = 0; i < g.rows; ++i) {
    const float share = exp_of(clamped(total - sum[i])) * h.dt[i];
    const float* const x = h.x + i * g.stride;
#pragma omp simd
    for (int c = 0; c < width; ++c) scaled[i * width + c] = share * x[c];
  }
  const float last = kept[g.rows - 1];
  const int64_t numbers = int64_t{g.state} * width;
#pragma omp simd
  for (int64_t i = 0; i < numbers; ++i) h.after[i] = last * h.before[i];
  GemmF32::run(g.state, width, g.rows, g.b_turned, kSsmRows, scaled, width, h.after, width, true);
}

/// One row for V vectors of elements, from element c on.
template <int V>
void step_elements(const SsmHead& h, float kept, int c) {
  const SsmGroup& g = *h.group;
  const int width = h.head_dim;
  const Vec old = splat(kept), skip = splat(h.skip), dt = splat(h.dt[0]);
  Vec fresh[V], seen[V];
  for (int j = 0; j < V; ++j) {
    const Vec x = load(h.x + c + j * kLanes);
    fresh[j] = dt * x;
    seen[j] = skip * x;
  }
  for (int d = 0; d < g.state; ++d) {
    const Vec b = splat(g.b[d]), read = splat(g.c[d]);
    for (int j = 0; j < V; ++j) {
      const int at = d * width + c + j * kLanes;
      const Vec state = fma(b, fresh[j], old * load(h.before + at));
      store(h.after + at, state);
      seen[j] = fma(read, state, seen[j]);
    }
  }
  for (int j = 0; j < V; ++j) store(h.out + c + j * kLanes, seen[j]);
}

void ssm_step(const SsmHead& h) {
  const float kept = exp_of(clamped(h.decay[0]));
  int c = 0;
  for (; c + 4 * kLanes <= h.head_dim; c += 4 * kLanes) step_elements<4>(h, kept, c);
  for (; c < h.head_dim; c += kLanes) step_elements<1>(h, kept, c);
}

void convolve_channels(const float* const* x, const float* weight, const float* bias, int taps,
                       int64_t n, bool silu, float* y) {
  if (bias == nullptr) {
#pragma omp simd
    for (int64_t c = 0; c < n; ++c) y[c] = x[0][c] * weight[c];
  } else {
#pragma omp simd
    for (int64_t c = 0; c < n; ++c) y[c] = bias[c] + x[0][c] * weight[c];
  }
  for (int j = 1; j < taps; ++j) {
    const float* const row = x[j];
    const float* const own = weight + j * n;
#pragma omp simd
    for (int64_t c = 0; c < n; ++c) y[c] += row[c] * own[c];
  }
  if (!silu) return;
#pragma omp simd
  for (int64_t c = 0; c < n; ++c) y[c] = silu_of(y[c]);
}

void multiply_numbers(const float* a, const float* b, int64_t n, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] * b[i];
}

void gate_numbers(float* x, const float* z, float scale, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) x[i] *= silu_of(scale * z[i]);
}

void norm_numbers(float* x, const float* weight, float eps, int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
  const float factor = 1.0f / __builtin_sqrtf(sum / static_cast<float>(n) + eps);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) x[i] *= factor * weight[i];
}

}  // namespace

const SsmTable kSsm = {ssm_prepare,      ssm_chunk,    ssm_step,    convolve_channels,
                       multiply_numbers, gate_numbers, norm_numbers};

}  // namespace longhaul::LH_ISA
