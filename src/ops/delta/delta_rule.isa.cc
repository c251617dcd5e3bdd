// Kernels of ops/delta/delta_kernels.h.

#include "ops/core/isa/exponential.h"
#include "ops/core/tile_gemm.h"
#include "ops/delta/delta_kernels.h"

namespace longhaul::LH_ISA {
namespace {

constexpr int kSolved = 16;  // rows that are solved one after another before a product

inline float sigmoid_of(float x) { return 1.0f / (1.0f + exp_of(clamped(-x))); }

/// The parts of a head's scratch memory. Rows of `keys`, `pairs` and `seen` are kDeltaRows floats.
struct DeltaScratch {
  float* keys;   // [key_dim, rows]: k transposed
  float* pairs;  // [rows, rows]: the system of the new values, then nothing
  float* seen;   // [rows, rows]: shares of new values that rows see
  float* fresh;  // [rows, value_dim]: new values

  explicit DeltaScratch(const DeltaHead& h)
      : keys(h.scratch),
        pairs(keys + h.key_dim * kDeltaRows),
        seen(pairs + kDeltaRows * kDeltaRows),
        fresh(seen + kDeltaRows * kDeltaRows) {}
};

void transpose_keys(const DeltaHead& h, int columns, float* to) {
  for (int d = 0; d < h.key_dim; ++d) {
    for (int i = 0; i < columns; ++i) {
      to[d * kDeltaRows + i] = i < h.rows ? h.k[i * h.key_dim + d] : 0.0f;
    }
  }
}

/// Turns products of k and k into the system -beta_i exp(sum_i - sum_j) k_i k_j for j < i, and
/// products of q and k into exp(sum_i - sum_j) q_i k_j for j <= i.
void weigh_pairs(const DeltaHead& h, const float* sum, float* pairs, float* seen) {
  for (int i = 0; i < h.rows; ++i) {
    float* const system = pairs + i * kDeltaRows;
    float* const visible = seen + i * kDeltaRows;
    const float beta = -h.beta[i], own = sum[i];
#pragma omp simd
    for (int j = 0; j < i; ++j) {
      const float kept = exp_of(clamped(own - sum[j]));
      system[j] *= beta * kept;
      visible[j] *= kept;
    }
  }
}

/// Solves fresh_i = start_i + sum over j < i of system_ij fresh_j in place.
void solve(int rows, int width, const float* system, float* fresh) {
  for (int first = 0; first < rows; first += kSolved) {
    const int end = first + kSolved < rows ? first + kSolved : rows;
    if (first > 0) {
      GemmF32::run(end - first, width, first, system + first * kDeltaRows, kDeltaRows, fresh, width,
                   fresh + first * width, width, true);
    }
    for (int i = first + 1; i < end; ++i) {
      float* const row = fresh + i * width;
      for (int j = first; j < i; ++j) {
        const float share = system[i * kDeltaRows + j];
        const float* const other = fresh + j * width;
#pragma omp simd
        for (int c = 0; c < width; ++c) row[c] += share * other[c];
      }
    }
  }
}

/// The chunked form of the rule (Yang et al. 2024, arXiv:2412.06464, section 3.3).
void delta_chunk(const DeltaHead& h) {
  const DeltaScratch s(h);
  const int width = h.value_dim, columns = (h.rows + 15) / 16 * 16;
  float sum[kDeltaRows], kept[kDeltaRows];
  float total = 0;
  for (int i = 0; i < h.rows; ++i) {
    total += h.decay[i];
    sum[i] = total;
    kept[i] = exp_of(clamped(total));
  }
  transpose_keys(h, columns, s.keys);
  GemmF32::run(h.rows, columns, h.key_dim, h.k, h.key_dim, s.keys, kDeltaRows, s.pairs, kDeltaRows,
               false);
  GemmF32::run(h.rows, columns, h.key_dim, h.q, h.key_dim, s.keys, kDeltaRows, s.seen, kDeltaRows,
               false);
  weigh_pairs(h, sum, s.pairs, s.seen);
  GemmF32::run(h.rows, width, h.key_dim, h.k, h.key_dim, h.before, width, s.fresh, width, false);
  for (int i = 0; i < h.rows; ++i) {
    const float* const value = h.v + i * h.stride;
    float* const row = s.fresh + i * width;
#pragma omp simd
    for (int c = 0; c < width; ++c) row[c] = h.beta[i] * (value[c] - kept[i] * row[c]);
  }
  solve(h.rows, width, s.pairs, s.fresh);
  GemmF32::run(h.rows, width, h.key_dim, h.q, h.key_dim, h.before, width, h.out, h.out_stride,
               false);
  for (int i = 0; i < h.rows; ++i) {
    float* const row = h.out + i * h.out_stride;
#pragma omp simd
    for (int c = 0; c < width; ++c) row[c] *= kept[i];
    // A row sees the rows up to itself, in blocks of rows.
    const int before = i / kSolved * kSolved;
    for (int j = before; j <= i; ++j) {
      const float share = s.seen[i * kDeltaRows + j];
      const float* const fresh = s.fresh + j * width;
#pragma omp simd
      for (int c = 0; c < width; ++c) row[c] += share * fresh[c];
    }
  }
  for (int first = kSolved; first < h.rows; first += kSolved) {
    const int count = h.rows - first < kSolved ? h.rows - first : kSolved;
    GemmF32::run(count, width, first, s.seen + first * kDeltaRows, kDeltaRows, s.fresh, width,
                 h.out + first * h.out_stride, h.out_stride, true);
  }
  const float last = kept[h.rows - 1];
  for (int i = 0; i < h.rows; ++i) kept[i] = exp_of(clamped(total - sum[i]));
  for (int d = 0; d < h.key_dim; ++d) {
    float* const keys = s.keys + d * kDeltaRows;
    for (int i = 0; i < h.rows; ++i) keys[i] *= kept[i];
  }
  const int64_t numbers = int64_t{h.key_dim} * width;
#pragma omp simd
  for (int64_t i = 0; i < numbers; ++i) h.after[i] = last * h.before[i];
  GemmF32::run(h.key_dim, width, h.rows, s.keys, kDeltaRows, s.fresh, width, h.after, width, true);
}

/// One row for V vectors of columns, from column c on.
template <int V>
void step_columns(const DeltaHead& h, float kept, int c) {
  const int width = h.value_dim;
  Vec fresh[V] = {}, seen[V] = {};
  for (int d = 0; d < h.key_dim; ++d) {
    const Vec key = splat(h.k[d]);
    for (int j = 0; j < V; ++j) {
      fresh[j] = fma(key, load(h.before + d * width + c + j * kLanes), fresh[j]);
    }
  }
  const Vec old = splat(kept), beta = splat(h.beta[0]);
  for (int j = 0; j < V; ++j) fresh[j] = beta * (load(h.v + c + j * kLanes) - old * fresh[j]);
  for (int d = 0; d < h.key_dim; ++d) {
    const Vec key = splat(h.k[d]), query = splat(h.q[d]);
    for (int j = 0; j < V; ++j) {
      const int at = d * width + c + j * kLanes;
      const Vec state = fma(key, fresh[j], old * load(h.before + at));
      store(h.after + at, state);
      seen[j] = fma(query, state, seen[j]);
    }
  }
  for (int j = 0; j < V; ++j) store(h.out + c + j * kLanes, seen[j]);
}

void delta_step(const DeltaHead& h) {
  const float kept = exp_of(clamped(h.decay[0]));
  int c = 0;
  for (; c + 4 * kLanes <= h.value_dim; c += 4 * kLanes) step_columns<4>(h, kept, c);
  for (; c < h.value_dim; c += kLanes) step_columns<1>(h, kept, c);
}

void to_unit(const float* x, int64_t n, float scale, float* y) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
  const float factor = scale / __builtin_sqrtf(sum + 1e-6f);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * factor;
}

void gated_norm_row(float* x, const float* gate, const float* weight, float eps, int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
  const float factor = 1.0f / __builtin_sqrtf(sum / static_cast<float>(n) + eps);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) x[i] *= factor * weight[i] * gate[i] * sigmoid_of(gate[i]);
}

void times_sigmoid(float* x, const float* gate, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) x[i] *= sigmoid_of(gate[i]);
}

}  // namespace

const DeltaTable kDelta = {delta_chunk, delta_step, to_unit, gated_norm_row, times_sigmoid};

}  // namespace longhaul::LH_ISA
