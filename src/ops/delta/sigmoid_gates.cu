#include "ops/core/gpu/over_elements.cuh"
#include "ops/delta/delta_terms.cuh"

namespace longhaul::cuda {
namespace {

struct TimesSigmoidOp {
  float* x;
  const float* gate;
  TimesSigmoidOp from(int64_t first) const { return {x + first, gate + first}; }
  template <int kRun>
  __device__ void apply(int64_t, int64_t i) const {
    Run<kRun> run = load_run<kRun>(x + i);
    const Run<kRun> gates = load_run<kRun>(gate + i);
    for (int k = 0; k < kRun; ++k) run.v[k] *= delta_sigmoid(gates.v[k]);
    store_run(x + i, run);
  }
};

struct AddGatedOp {
  float* y;
  const float *x, *gate;
  int64_t n;
  template <int kRun>
  __device__ void apply(int64_t row, int64_t col) const {
    const float share = delta_sigmoid(gate[row]);
    Run<kRun> sum = load_run<kRun>(y + row * n + col);
    const Run<kRun> more = load_run<kRun>(x + row * n + col);
    for (int k = 0; k < kRun; ++k) sum.v[k] += share * more.v[k];
    store_run(y + row * n + col, sum);
  }
};

bool in_fours(const float* a, const float* b) {
  return aligned_to(16, reinterpret_cast<uintptr_t>(a), reinterpret_cast<uintptr_t>(b));
}

}  // namespace

void multiply_by_sigmoid(Stream stream, float* x, const float* gate, int64_t count) {
  over_all(stream, "multiply_by_sigmoid", count, in_fours(x, gate), TimesSigmoidOp{x, gate});
}

void add_gated(Stream stream, float* y, const float* x, const float* gate, int64_t rows,
               int64_t n) {
  over_rows(stream, "add_gated", rows, n, in_fours(y, x), AddGatedOp{y, x, gate, n});
}

}  // namespace longhaul::cuda
