#include "ops/delta/delta_rule.h"

#include <algorithm>
#include <cmath>

#include "base/buffer.h"
#include "base/parallel.h"
#include "ops/delta/delta_kernels.h"
#include "ops/ssm/short_convolution.h"

namespace longhaul {
namespace {

constexpr int kFewDeltaRows = 4;  // cheaper one by one than as products of matrices

float delta_sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }
float delta_softplus(float x) { return x > 20 ? x : std::log1p(std::exp(x)); }

/// The rows of one value head, in chunks.
class HeadOfRows {
 public:
  HeadOfRows(const DeltaShape& shape, const DeltaRows& in, int head)
      : shape_(shape), in_(in), head_(head) {
    const auto keys = static_cast<size_t>(kDeltaRows * shape.key_dim);
    memory_.resize(2 * keys + static_cast<size_t>(delta_scratch(shape.key_dim, shape.value_dim)));
    q_ = memory_.data();
    k_ = q_ + keys;
    scratch_ = k_ + keys;
  }

  void run(const float* before, float* after, float* out) {
    DeltaHead h;
    h.key_dim = shape_.key_dim;
    h.value_dim = shape_.value_dim;
    h.q = q_, h.k = k_;
    h.stride = shape_.channels();
    h.decay = decay_, h.beta = beta_;
    h.before = before, h.after = after;
    h.out_stride = shape_.values();
    h.scratch = scratch_;
    const bool few = in_.rows <= kFewDeltaRows;
    for (int64_t first = 0; first < in_.rows; first += h.rows) {
      h.rows = few ? 1 : static_cast<int>(std::min<int64_t>(kDeltaRows, in_.rows - first));
      prepare(first, h.rows);
      h.v = in_.qkv + first * h.stride + 2 * shape_.keys() + int64_t{head_} * shape_.value_dim;
      h.out = out + first * h.out_stride + int64_t{head_} * shape_.value_dim;
      few ? kernels_.step(h) : kernels_.chunk(h);
      h.before = after;
    }
  }

 private:
  void prepare(int64_t first, int rows) {
    const int64_t n = shape_.key_dim;
    const float scale = 1 / std::sqrt(static_cast<float>(n));
    for (int i = 0; i < rows; ++i) {
      const int64_t row = first + i;
      const float* const q = in_.qkv + row * shape_.channels() + shape_.key_head(head_) * n;
      kernels_.unit(q, n, scale, q_ + i * n);
      kernels_.unit(q + shape_.keys(), n, 1, k_ + i * n);
      const int64_t at = row * in_.stride + head_;
      beta_[i] = delta_sigmoid(in_.beta[at]);
      decay_[i] = in_.rate[head_] * delta_softplus(in_.alpha[at] + in_.dt_bias[head_]);
    }
  }

  const DeltaShape& shape_;
  const DeltaRows& in_;
  const int head_;
  const DeltaTable& kernels_ = kDelta_for(current_isa());
  static thread_local Buffer<float> memory_;
  float *q_, *k_, *scratch_;
  float beta_[kDeltaRows], decay_[kDeltaRows];
};

thread_local Buffer<float> HeadOfRows::memory_;

}  // namespace

void short_convolution(const DeltaShape& shape, const float* x, const float* weight, int64_t rows,
                       const float* before, float* after, float* y) {
  const ShortConvolution convolution = {shape.channels(), shape.kernel, weight};
  short_convolution(convolution, x, shape.channels(), rows, before, after, y);
}

void delta_rule(const DeltaShape& shape, const DeltaRows& in, const float* before, float* after,
                float* out) {
  const int64_t head_state = int64_t{shape.key_dim} * shape.value_dim;
  parallel_for(shape.value_heads, [&](int64_t head, int) {
    const int64_t at = shape.history() + head * head_state;
    HeadOfRows(shape, in, static_cast<int>(head)).run(before + at, after + at, out);
  });
}

void gated_norm(float* x, const float* gate, int64_t stride, const float* weight, float eps,
                int64_t rows, int64_t heads, int64_t size) {
  parallel_ranges(rows, 8, [&](int64_t begin, int64_t end) {
    const DeltaTable& kernels = kDelta_for(current_isa());
    for (int64_t i = begin * heads; i < end * heads; ++i) {
      const int64_t row = i / heads, head = i % heads;
      kernels.gated_norm(x + i * size, gate + row * stride + head * size, weight, eps, size);
    }
  });
}

void multiply_by_sigmoid(float* x, const float* gate, int64_t count) {
  parallel_ranges(count, 16 * 1024, [&](int64_t begin, int64_t end) {
    kDelta_for(current_isa()).sigmoid(x + begin, gate + begin, end - begin);
  });
}

void add_gated(float* y, const float* x, const float* gate, int64_t rows, int64_t n) {
  parallel_ranges(rows, 8, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const float share = delta_sigmoid(gate[r]);
      for (int64_t i = 0; i < n; ++i) y[r * n + i] += share * x[r * n + i];
    }
  });
}

}  // namespace longhaul
