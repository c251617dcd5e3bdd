#include <algorithm>
#include <type_traits>

#include "base/assert.h"
#include "ops/core/elementwise.gpu.h"
#include "ops/core/gated.cuh"
#include "ops/core/gpu/in_launches.cuh"
#include "ops/core/gpu/over_elements.cuh"
#include "ops/matmul/product_rows.cuh"

namespace longhaul::cuda {
namespace {

uintptr_t at(const void* p) { return reinterpret_cast<uintptr_t>(p); }

struct AddOp {
  float* y;
  const float *x, *bias;
  int64_t n;
  template <int kRun>
  __device__ void apply(int64_t row, int64_t col) const {
    Run<kRun> sum = load_run<kRun>(y + row * n + col);
    const Run<kRun> more = load_run<kRun>(x + row * n + col);
    Run<kRun> b{};
    if (bias != nullptr) b = load_run<kRun>(bias + col);
    for (int i = 0; i < kRun; ++i) {
      sum.v[i] += more.v[i];
      if (bias != nullptr) sum.v[i] += b.v[i];
    }
    store_run(y + row * n + col, sum);
  }
};

struct AddBiasOp {
  float* y;
  const float* bias;
  int64_t stride;
  template <int kRun>
  __device__ void apply(int64_t row, int64_t col) const {
    Run<kRun> sum = load_run<kRun>(y + row * stride + col);
    const Run<kRun> b = load_run<kRun>(bias + col);
    for (int i = 0; i < kRun; ++i) sum.v[i] += b.v[i];
    store_run(y + row * stride + col, sum);
  }
};

template <class In, class Out>
struct SwigluOp {
  static constexpr bool kAllBf16 = std::is_same_v<In, uint16_t> && std::is_same_v<Out, uint16_t>;
  const In *gate, *up;
  int64_t n, stride;
  Gated gated;
  Out* y;
  template <int kRun>
  __device__ void apply(int64_t row, int64_t col) const {
    const Run<kRun> g = load_run<kRun>(gate + row * stride + col);
    Run<kRun> out = load_run<kRun>(up + row * stride + col);
    for (int i = 0; i < kRun; ++i) {
      out.v[i] = kAllBf16 ? gated.roughly(g.v[i], out.v[i]) : gated(g.v[i], out.v[i]);
    }
    store_run(y + row * n + col, out);
  }
};

template <class In, class Out>
struct ConvertOp {
  const In* x;
  Out* y;
  ConvertOp from(int64_t first) const { return {x + first, y + first}; }
  template <int kRun>
  __device__ void apply(int64_t, int64_t i) const {
    store_run(y + i, load_run<kRun>(x + i));
  }
};

struct FillOp {
  float* x;
  float value;
  FillOp from(int64_t first) const { return {x + first, value}; }
  template <int kRun>
  __device__ void apply(int64_t, int64_t i) const {
    Run<kRun> run;
    for (float& v : run.v) v = value;
    store_run(x + i, run);
  }
};

struct AddScaledOp {
  const float* x;
  float scale;
  float* y;
  AddScaledOp from(int64_t first) const { return {x + first, scale, y + first}; }
  template <int kRun>
  __device__ void apply(int64_t, int64_t i) const {
    Run<kRun> sum = load_run<kRun>(y + i);
    const Run<kRun> more = load_run<kRun>(x + i);
    for (int k = 0; k < kRun; ++k) sum.v[k] += scale * more.v[k];
    store_run(y + i, sum);
  }
};

struct SoftCapOp {
  float* x;
  float scale, cap;
  SoftCapOp from(int64_t first) const { return {x + first, scale, cap}; }
  template <int kRun>
  __device__ void apply(int64_t, int64_t i) const {
    Run<kRun> run = load_run<kRun>(x + i);
    for (float& v : run.v) {
      v *= scale;
      if (cap > 0) v = cap * tanhf(v / cap);
    }
    store_run(x + i, run);
  }
};

struct GrowOp {
  float* x;
  int64_t n, first;
  QueryGrowth growth;
  template <int kRun>
  __device__ void apply(int64_t row, int64_t col) const {
    const int64_t lengths = (first + row) / growth.length;
    if (lengths == 0) return;
    const float scale = 1.0f + growth.rate * log1pf(static_cast<float>(lengths));
    Run<kRun> run = load_run<kRun>(x + row * n + col);
    for (float& v : run.v) v *= scale;
    store_run(x + row * n + col, run);
  }
};

struct ListsOp {
  const float* x;
  int64_t lists, n;
  float* out;
  bool add;
  template <int kRun>
  __device__ void apply(int64_t, int64_t i) const {
    Run<kRun> sum{};
    if (add) sum = load_run<kRun>(out + i);
    for (int64_t list = 0; list < lists; ++list) {
      const Run<kRun> more = load_run<kRun>(x + list * n + i);
      for (int k = 0; k < kRun; ++k) sum.v[k] += more.v[k];
    }
    store_run(out + i, sum);
  }
};

constexpr int kSumThreads = 256;

/// blockIdx.y: a group.
__global__ void __launch_bounds__(kSumThreads)
    sum_groups_kernel(const __grid_constant__ Records<ListGroup> groups) {
  await_turn();
  const ListGroup& group = groups.each[blockIdx.y];
  const int64_t i = blockIdx.x * int64_t{kSumThreads} + threadIdx.x;
  if (i >= group.n) return;
  float sum = 0;
  for (int64_t list = 0; list < group.lists; ++list) sum += group.x[list * group.n + i];
  group.out[i] = sum;
}

template <class In, class Out>
void swiglu_any(Stream stream, const In* gate, const In* up, int64_t rows, int64_t n,
                int64_t stride, Out* y, const Gating& gating) {
  const bool four = aligned_to(4 * sizeof(In), at(gate), at(up)) &&
                    aligned_to(4 * sizeof(Out), at(y)) && stride % 4 == 0;
  const SwigluOp<In, Out> op{gate, up, n, stride, Gated::of(gating), y};
  if constexpr (op.kAllBf16) {
    if (n % 8 == 0 && stride % 8 == 0 && aligned_to(16, at(gate), at(up), at(y))) {
      return over_runs<8>(stream, "swiglu", rows, n, op);
    }
  }
  over_rows(stream, "swiglu", rows, n, four, op);
}

/// Converts rows x, or gated(x, up), to the forms that products read.
__global__ void __launch_bounds__(256)
    product_rows_kernel(const float* x, const float* up, int n, Gated gated, ProductRows y) {
  await_turn();
  const int64_t row = blockIdx.y;
  const int col = 4 * static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  Run<4> run{};
  if (col < n) {
    run = load_run<4>(x + row * n + col);
    if (up != nullptr) {
      const Run<4> raised = load_run<4>(up + row * n + col);
      for (int i = 0; i < 4; ++i) run.v[i] = gated(run.v[i], raised.v[i]);
    }
  }
  write_rows(y, row, col, {run.v[0], run.v[1], run.v[2], run.v[3]}, col < n);
}

void write_product_rows(Stream stream, const float* x, const float* up, int64_t rows, int64_t n,
                        const ProductRows& y, const Gating& gating = {}) {
  LH_ASSERT(n == 16 * y.int8.groups && n % 32 == 0 && rows < 65536);
  LH_ASSERT(aligned_to(16, at(x), at(up), at(y.bf16)));
  if (rows == 0 || n == 0) return;
  const dim3 grid(static_cast<unsigned>((n / 4 + 255) / 256), static_cast<unsigned>(rows));
  launch_early(stream, "product_rows", product_rows_kernel, grid, 256, 0, x, up,
               static_cast<int>(n), Gated::of(gating), y);
}

/// One warp per vector.
__global__ void __launch_bounds__(256)
    merge_kernel(const float* other_out, const float* other_lse, int64_t vectors, int head_dim,
                 float* out, float* lse) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.y) + threadIdx.y;
  await_turn();
  if (i >= vectors) return;
  const float here = lse[i], there = other_lse[i], top = fmaxf(here, there);
  if (there == -INFINITY) return;
  const float mine = expf(here - top), theirs = expf(there - top), sum = mine + theirs;
  for (int t = threadIdx.x; t < head_dim; t += 32) {
    float& o = out[i * head_dim + t];
    o = (o * mine + other_out[i * head_dim + t] * theirs) / sum;
  }
  __syncwarp();  // all lanes have read lse
  if (threadIdx.x == 0) lse[i] = top + logf(sum);
}

const dim3 kWarps(32, 8);

unsigned warp_blocks(int64_t vectors) { return static_cast<unsigned>((vectors + 7) / 8); }

}  // namespace

void add(Stream stream, float* y, const float* x, int64_t rows, int64_t n, const float* bias) {
  const bool four = aligned_to(16, at(y), at(x), at(bias));
  over_rows(stream, "add", rows, n, four, AddOp{y, x, bias, n});
}

void add_bias(Stream stream, float* y, const float* bias, int64_t rows, int64_t n, int64_t stride) {
  const bool four = aligned_to(16, at(y), at(bias)) && stride % 4 == 0;
  over_rows(stream, "add_bias", rows, n, four, AddBiasOp{y, bias, stride});
}

void swiglu(Stream stream, const float* gate, const float* up, int64_t rows, int64_t n,
            int64_t stride, float* y, const Gating& gating) {
  swiglu_any(stream, gate, up, rows, n, stride, y, gating);
}

void swiglu(Stream stream, const float* gate, const float* up, int64_t rows, int64_t n,
            int64_t stride, uint16_t* y, const Gating& gating) {
  swiglu_any(stream, gate, up, rows, n, stride, y, gating);
}

void swiglu(Stream stream, const uint16_t* gate, const uint16_t* up, int64_t rows, int64_t n,
            int64_t stride, uint16_t* y, const Gating& gating) {
  swiglu_any(stream, gate, up, rows, n, stride, y, gating);
}

void swiglu(Stream stream, const float* gate, const float* up, int64_t rows, int64_t n,
            const ProductRows& y, const Gating& gating) {
  write_product_rows(stream, gate, up, rows, n, y, gating);
}

void f32_to_product_rows(Stream stream, const float* x, int64_t rows, int64_t n,
                         const ProductRows& y) {
  write_product_rows(stream, x, nullptr, rows, n, y);
}

void f32_to_bf16(Stream stream, const float* x, int64_t count, uint16_t* y) {
  const bool four = aligned_to(16, at(x)) && aligned_to(8, at(y));
  over_all(stream, "f32_to_bf16", count, four, ConvertOp<float, uint16_t>{x, y});
}

void bf16_to_f32(Stream stream, const uint16_t* x, int64_t count, float* y) {
  const bool four = aligned_to(8, at(x)) && aligned_to(16, at(y));
  over_all(stream, "bf16_to_f32", count, four, ConvertOp<uint16_t, float>{x, y});
}

void fill(Stream stream, float* x, int64_t count, float value) {
  over_all(stream, "fill", count, aligned_to(16, at(x)), FillOp{x, value});
}

void copy(Stream stream, const float* from, int64_t count, float* to) {
  over_all(stream, "copy", count, aligned_to(16, at(from), at(to)),
           ConvertOp<float, float>{from, to});
}

void add_scaled(Stream stream, const float* x, float scale, int64_t count, float* y) {
  over_all(stream, "add_scaled", count, aligned_to(16, at(x), at(y)), AddScaledOp{x, scale, y});
}

void scale_and_cap(Stream stream, float* x, int64_t count, float scale, float cap) {
  over_all(stream, "scale_and_cap", count, aligned_to(16, at(x)), SoftCapOp{x, scale, cap});
}

void grow_queries(Stream stream, float* x, int64_t rows, int64_t n, int64_t first,
                  const QueryGrowth& growth) {
  LH_ASSERT(growth.length > 0 && first >= 0);
  if ((first + rows - 1) / growth.length == 0) return;
  over_rows(stream, "grow_queries", rows, n, aligned_to(16, at(x)), GrowOp{x, n, first, growth});
}

void sum_lists(Stream stream, const float* x, int64_t lists, int64_t n, float* out) {
  over_rows(stream, "sum_lists", 1, n, aligned_to(16, at(x), at(out)),
            ListsOp{x, lists, n, out, false});
}

void add_lists(Stream stream, const float* x, int64_t lists, int64_t n, float* out) {
  over_rows(stream, "add_lists", 1, n, aligned_to(16, at(x), at(out)),
            ListsOp{x, lists, n, out, true});
}

void sum_groups(Stream stream, std::span<const ListGroup> groups) {
  int64_t most = 0;
  for (const ListGroup& group : groups) most = std::max(most, group.n);
  if (most == 0) return;
  in_launches(groups, "sum_groups", [&](const Records<ListGroup>& some, unsigned count) {
    const dim3 grid(static_cast<unsigned>((most + kSumThreads - 1) / kSumThreads), count);
    launch_early(stream, "sum_groups", sum_groups_kernel, grid, kSumThreads, 0, some);
  });
}

void merge_attention(Stream stream, const float* other_out, const float* other_lse, int64_t vectors,
                     int head_dim, float* out, float* lse) {
  if (vectors == 0) return;
  launch_early(stream, "merge_attention", merge_kernel, warp_blocks(vectors), kWarps, 0, other_out,
               other_lse, vectors, head_dim, out, lse);
}

}  // namespace longhaul::cuda
