#include "ops/core/gpu/over_elements.cuh"
#include "ops/core/gpu/reductions.cuh"
#include "ops/grad/gradient_phases.h"
#include "ops/grad/gradients.gpu.h"

namespace longhaul::cuda {
namespace {

uintptr_t at(const void* p) { return reinterpret_cast<uintptr_t>(p); }

struct HeadPlaces {
  int64_t tokens, room;
  int heads, group, head_dim;

  HeadPlaces(const TextAttention& shape, int64_t count, int64_t room_of_head)
      : tokens(count),
        room(room_of_head),
        heads(shape.heads),
        group(shape.heads / shape.kv_heads),
        head_dim(shape.head_dim) {}
  /// Offset of a token's head in the order by KV heads.
  __device__ int64_t packed(int64_t token, int head) const {
    return ((head / group * room + token) * group + head % group) * head_dim;
  }
};

/// One warp per token and head.
__global__ void __launch_bounds__(256)
    pack_kernel(HeadPlaces places, const float* x, const float* out, uint16_t* packed,
                float* means) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.y) + threadIdx.y;
  if (i >= places.tokens * places.heads) return;
  const int64_t from = i * places.head_dim;
  uint16_t* const to = packed + places.packed(i / places.heads, static_cast<int>(i % places.heads));
  float sum = 0;
  for (int t = threadIdx.x; t < places.head_dim; t += 32) {
    const float value = x[from + t];
    to[t] = static_cast<uint16_t>(bf16_bits(value));
    if (out != nullptr) sum = fmaf(value, out[from + t], sum);
  }
  if (out == nullptr) return;
  sum = warp_sum(sum);
  if (threadIdx.x == 0) means[i] = sum;
}

__global__ void __launch_bounds__(256)
    unpack_kernel(HeadPlaces places, const float* packed, int64_t begin, float* x) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.y) + threadIdx.y;
  if (i >= places.tokens * places.heads) return;
  const float* const from =
      packed + places.packed(i / places.heads, static_cast<int>(i % places.heads));
  float* const to = x + (begin * places.heads + i) * places.head_dim;
  for (int t = threadIdx.x; t < places.head_dim; t += 32) to[t] += from[t];
}

struct PairRows {
  PairTile tile;
  int64_t sink, window;
  float scale;
  int heads, group;

  PairRows(const TextAttention& shape, const PairTile& of)
      : tile(of),
        sink(shape.sink),
        window(shape.window),
        scale(shape.scale),
        heads(shape.heads),
        group(shape.heads / shape.kv_heads) {}
  /// The token of row `i` in the tile.
  __device__ int64_t token(int64_t i) const { return tile.token + i / group % tile.tokens; }
  __device__ int64_t lse_at(int64_t i) const {
    return token(i) * heads + i / group / tile.tokens * group + i % group;
  }
};

/// Four keys per thread.
__global__ void __launch_bounds__(256)
    pair_kernel(PairRows rows, uint16_t* weights, uint16_t* d_scores) {
  const PairTile& tile = rows.tile;
  const int64_t i = blockIdx.x, first = 4 * (blockIdx.y * int64_t{256} + threadIdx.x);
  if (first >= tile.stride) return;
  const int64_t row = rows.token(i), place = i * tile.stride + first;
  Run<4> weight{}, gradient{};
  if (tile.key + first <= row && first < tile.keys) {
    const float lse = tile.lse[rows.lse_at(i)], mean = tile.means[rows.lse_at(i)];
    const Run<4> score = load_run<4>(tile.scores + place);
    const Run<4> d_weight = load_run<4>(tile.d_weights + place);
    for (int k = 0; k < 4; ++k) {
      const bool there = first + k < tile.keys;
      if (!there || !sees(row, tile.key + first + k, rows.sink, rows.window)) continue;
      const PairGradient pair = pair_gradient(score.v[k], d_weight.v[k], rows.scale, lse, mean);
      weight.v[k] = pair.weight;
      gradient.v[k] = pair.d_score;
    }
  }
  store_run(weights + place, weight);
  store_run(d_scores + place, gradient);
}

__global__ void __launch_bounds__(kBlockThreads)
    region_kernel(PairRows rows, int64_t all_tokens, ProbedRegions regions, double* of_rows) {
  __shared__ SumShared<6> shared;
  const int64_t i = blockIdx.x, place = i * rows.tile.stride;
  region_row(CudaBlock{}, shared,
             {rows.tile.scores + place, rows.tile.d_weights + place, rows.scale,
              rows.tile.lse[rows.lse_at(i)], rows.token(i), all_tokens, regions.sink,
              regions.window, regions.last});
  if (threadIdx.x < 6) of_rows[6 * i + threadIdx.x] = shared.all[threadIdx.x];
}

__global__ void __launch_bounds__(kBlockThreads)
    add_rows_kernel(const double* of_rows, int64_t rows, double* sums) {
  __shared__ SumShared<6> shared;
  const CudaBlock block;
  block.sums(shared, [&](int t, double* own) {
    for (int64_t i = t; i < rows; i += kBlockThreads) {
      for (int n = 0; n < 6; ++n) own[n] += of_rows[6 * i + n];
    }
  });
  if (threadIdx.x < 6) sums[threadIdx.x] += shared.all[threadIdx.x];
}

__global__ void __launch_bounds__(kBlockThreads) rms_kernel(RmsGradient gradient) {
  __shared__ SumShared<2> shared;
  rms_gradient_row(CudaBlock{}, shared, gradient, blockIdx.x);
}

__global__ void __launch_bounds__(kBlockThreads)
    gate_kernel(GatedRows shape, const float* d, const float* full, const float* near,
                float* sums) {
  __shared__ SumShared<1> shared;
  const int64_t head = blockIdx.x, part = blockIdx.y;
  const int64_t width = int64_t{shape.heads / shape.kv_heads} * shape.head_dim;
  const int64_t begin = shape.rows * part / kGateParts, end = shape.rows * (part + 1) / kGateParts;
  const float sum = gate_gradient(CudaBlock{}, shared, d + head * width, full + head * width,
                                  near + head * width, begin, end, width, width * shape.kv_heads);
  if (threadIdx.x == 0) sums[part * shape.kv_heads + head] = sum;
}

struct SwigluBackOp {
  const float *gate, *up, *dy;
  float *d_gate, *d_up;
  SwigluBackOp from(int64_t i) const { return {gate + i, up + i, dy + i, d_gate + i, d_up + i}; }
  template <int kRun>
  __device__ void apply(int64_t, int64_t i) const {
    Run<kRun> g = load_run<kRun>(gate + i), u = load_run<kRun>(up + i);
    const Run<kRun> d = load_run<kRun>(dy + i);
    for (int k = 0; k < kRun; ++k) {
      const SwigluGradient both = swiglu_gradient(g.v[k], u.v[k], d.v[k]);
      g.v[k] = both.gate;
      u.v[k] = both.up;
    }
    store_run(d_gate + i, g);
    store_run(d_up + i, u);
  }
};

/// Rows are heads of tokens.
struct MixOp {
  const float *gates, *full, *near;
  int heads, group, head_dim;
  float* out;
  template <int kRun>
  __device__ void apply(int64_t row, int64_t col) const {
    const float a = gates[row % heads / group];
    const int64_t i = row * head_dim + col;
    Run<kRun> mixed = load_run<kRun>(full + i);
    const Run<kRun> n = load_run<kRun>(near + i);
    for (int k = 0; k < kRun; ++k) mixed.v[k] = a * mixed.v[k] + (1 - a) * n.v[k];
    store_run(out + i, mixed);
  }
};

struct ScaleHeadsOp {
  const float *factors, *x;
  int heads, group, head_dim;
  float* out;
  template <int kRun>
  __device__ void apply(int64_t row, int64_t col) const {
    const float factor = factors[row % heads / group];
    Run<kRun> run = load_run<kRun>(x + row * head_dim + col);
    for (float& v : run.v) v *= factor;
    store_run(out + row * head_dim + col, run);
  }
};

const dim3 kWarps(32, 8);

unsigned warp_blocks(int64_t vectors) { return static_cast<unsigned>((vectors + 7) / 8); }

int64_t rows_of(const TextAttention& shape, const PairTile& tile) {
  return tile.tokens * shape.heads;
}

}  // namespace

void pack_heads(Stream stream, const TextAttention& shape, int64_t room, const float* x,
                const float* out, uint16_t* packed, float* means) {
  if (shape.tokens == 0) return;
  pack_kernel<<<warp_blocks(shape.tokens * shape.heads), kWarps, 0, stream>>>(
      HeadPlaces(shape, shape.tokens, room), x, out, packed, means);
  check_launch("pack_heads");
}

void add_unpacked(Stream stream, const TextAttention& shape, const float* packed, int64_t begin,
                  int64_t count, float* x) {
  if (count == 0) return;
  unpack_kernel<<<warp_blocks(count * shape.heads), kWarps, 0, stream>>>(
      HeadPlaces(shape, count, count), packed, begin, x);
  check_launch("add_unpacked");
}

void pair_gradients(Stream stream, const TextAttention& shape, const PairTile& tile,
                    uint16_t* weights, uint16_t* d_scores) {
  const dim3 grid(static_cast<unsigned>(rows_of(shape, tile)),
                  static_cast<unsigned>((tile.stride + 1023) / 1024));
  pair_kernel<<<grid, 256, 0, stream>>>(PairRows(shape, tile), weights, d_scores);
  check_launch("pair_gradients");
}

void add_regions(Stream stream, const TextAttention& shape, const PairTile& tile,
                 const ProbedRegions& regions, double* of_rows, double* sums) {
  const int64_t rows = rows_of(shape, tile);
  region_kernel<<<static_cast<unsigned>(rows), kBlockThreads, 0, stream>>>(
      PairRows(shape, tile), shape.tokens, regions, of_rows);
  check_launch("region_rows");
  add_rows_kernel<<<1, kBlockThreads, 0, stream>>>(of_rows, rows, sums);
  check_launch("add_regions");
}

void rms_norm_backward(Stream stream, const float* x, const float* weight, float eps,
                       const float* dy, int64_t rows, int64_t n, float* dx, bool add) {
  if (rows == 0 || n == 0) return;
  rms_kernel<<<static_cast<unsigned>(rows), kBlockThreads, 0, stream>>>(
      RmsGradient{x, weight, dy, eps, n, dx, add});
  check_launch("rms_norm_backward");
}

void swiglu_backward(Stream stream, const float* gate, const float* up, const float* dy,
                     int64_t count, float* d_gate, float* d_up) {
  over_all(stream, "swiglu_backward", count,
           aligned_to(16, at(gate), at(up), at(dy), at(d_gate), at(d_up)),
           SwigluBackOp{gate, up, dy, d_gate, d_up});
}

void mix_gated(Stream stream, const GatedRows& shape, const float* gates, const float* full,
               const float* near, float* out) {
  over_rows(stream, "mix_gated", shape.rows * shape.heads, shape.head_dim,
            aligned_to(16, at(full), at(near), at(out)),
            MixOp{gates, full, near, shape.heads, shape.group(), shape.head_dim, out});
}

void scale_heads(Stream stream, const GatedRows& shape, const float* factors, const float* x,
                 float* out) {
  over_rows(stream, "scale_heads", shape.rows * shape.heads, shape.head_dim,
            aligned_to(16, at(x), at(out)),
            ScaleHeadsOp{factors, x, shape.heads, shape.group(), shape.head_dim, out});
}

void gate_gradients(Stream stream, const GatedRows& shape, const float* d_mixed, const float* full,
                    const float* near, float* sums) {
  gate_kernel<<<dim3(static_cast<unsigned>(shape.kv_heads), kGateParts), kBlockThreads, 0,
                stream>>>(shape, d_mixed, full, near, sums);
  check_launch("gate_gradients");
}

}  // namespace longhaul::cuda
