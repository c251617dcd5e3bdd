#include "base/assert.h"
#include "ops/attention/rope.gpu.h"
#include "ops/attention/rotate_pair.cuh"
#include "ops/core/gpu/over_elements.cuh"

namespace longhaul::cuda {
namespace {

struct AnglesOp {
  const double* inverse_frequency;
  int64_t half, first;
  float factor;
  float *cosine, *sine;
  template <int kRun>
  __device__ void apply(int64_t row, int64_t t) const {
    static_assert(kRun == 1 || kRun == 4);
    Run<kRun> c, s;
    for (int i = 0; i < kRun; ++i) {
      double sin_of, cos_of;
      sincos(__dmul_rn(static_cast<double>(first + row), inverse_frequency[t + i]), &sin_of,
             &cos_of);
      c.v[i] = static_cast<float>(cos_of) * factor;
      s.v[i] = static_cast<float>(sin_of) * factor;
    }
    store_run(cosine + row * half + t, c);
    store_run(sine + row * half + t, s);
  }
};

/// A "row" here is one head of a row. A "column" is a pair, or after the pairs a copied element.
struct RotateOp {
  const float *x, *cosine, *sine;
  int64_t x_stride, y_stride;
  int64_t position, step;  // position: of row 0, relative to the table's first; step: between rows
  int heads, head_dim, half;
  float* y;
  template <int kRun>
  __device__ void apply(int64_t vector, int64_t t) const {
    const int64_t row = vector / heads, head = vector % heads * head_dim;
    const float* from = x + row * x_stride + head;
    float* to = y + row * y_stride + head;
    if (t >= half) {
      store_run(to + half + t, load_run<kRun>(from + half + t));
      return;
    }
    const int64_t angle = (position + row * step) * half + t;
    const Run<kRun> c = load_run<kRun>(cosine + angle), s = load_run<kRun>(sine + angle);
    Run<kRun> a = load_run<kRun>(from + t), b = load_run<kRun>(from + half + t);
    for (int i = 0; i < kRun; ++i) {
      const Pair pair = rotated({a.v[i], b.v[i]}, c.v[i], s.v[i]);
      a.v[i] = pair.first;
      b.v[i] = pair.second;
    }
    store_run(to + t, a);
    store_run(to + half + t, b);
  }
};

uintptr_t at(const void* p) { return reinterpret_cast<uintptr_t>(p); }

void rotate(Stream stream, const Rotations& r, int64_t position, int64_t step, const HeadRows& x,
            float* y, int64_t y_stride) {
  const int half = r.rotary_dim / 2;
  LH_ASSERT(r.rotary_dim >= 0 && r.rotary_dim % 2 == 0 && r.rotary_dim <= x.head_dim);
  const RotateOp op{x.x,  r.cosine, r.sine,     x.stride, y_stride, position - r.first,
                    step, x.heads,  x.head_dim, half,     y};
  const bool four = aligned_to(16, at(x.x), at(y), at(r.cosine), at(r.sine)) && x.stride % 4 == 0 &&
                    y_stride % 4 == 0 && half % 4 == 0 && x.head_dim % 4 == 0;
  over_rows(stream, "apply_rope", x.rows * x.heads, x.head_dim - half, four, op);
}

}  // namespace

void rope_angles(Stream stream, const double* inverse_frequency, int half, float attention_factor,
                 int64_t first, int64_t count, float* cosine, float* sine) {
  over_rows(stream, "rope_angles", count, half, false,
            AnglesOp{inverse_frequency, half, first, attention_factor, cosine, sine});
}

void apply_rope(Stream stream, const Rotations& rotations, int64_t position, const HeadRows& x,
                float* y, int64_t y_stride) {
  LH_ASSERT(position >= rotations.first && position + x.rows <= rotations.first + rotations.count);
  rotate(stream, rotations, position, 1, x, y, y_stride);
}

void apply_rope_constant(Stream stream, const Rotations& rotations, int64_t position,
                         const HeadRows& x, float* y, int64_t y_stride) {
  LH_ASSERT(position >= rotations.first && position < rotations.first + rotations.count);
  rotate(stream, rotations, position, 0, x, y, y_stride);
}

}  // namespace longhaul::cuda
