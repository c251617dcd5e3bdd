// Kernels of ops/grad/rms_norm_backward.h, ops/grad/swiglu_backward.h and
// ops/grad/attention_backward.h for one row.

#include "ops/grad/row_gradients.h"

#include "ops/core/isa/simd.h"

namespace longhaul::LH_ISA {
namespace {

constexpr float kLog2E = 1.44269504f;

int lanes_at(int64_t i, int64_t n) { return n - i < kLanes ? static_cast<int>(n - i) : kLanes; }

float square_root(float x) { return __builtin_sqrtf(x); }

void rms_norm(const float* x, const float* weight, float eps, const float* dy, int64_t n, float* dx,
              float keep) {
  Vec squares = {}, products = {};
  for (int64_t i = 0; i < n; i += kLanes) {
    const int lanes = lanes_at(i, n);
    const Vec value = load_first(x + i, lanes);
    squares = fma(value, value, squares);
    products = fma(value * load_first(weight + i, lanes), load_first(dy + i, lanes), products);
  }
  const float count = static_cast<float>(n);
  const float r = 1.0f / square_root(reduce_add(squares) / count + eps);
  const Vec along = splat(-r * r * r / count * reduce_add(products)), scale = splat(r);
  for (int64_t i = 0; i < n; i += kLanes) {
    const int lanes = lanes_at(i, n);
    const Vec across = scale * load_first(weight + i, lanes) * load_first(dy + i, lanes);
    Vec gradient = fma(along, load_first(x + i, lanes), across);
    if (keep != 0) gradient = fma(splat(keep), load_first(dx + i, lanes), gradient);
    store_first(dx + i, lanes, gradient);
  }
}

void swiglu(const float* gate, const float* up, const float* dy, int64_t n, float* d_gate,
            float* d_up) {
  const Vec one = splat(1.0f), most = splat(-126.0f);
  for (int64_t i = 0; i < n; i += kLanes) {
    const int lanes = lanes_at(i, n);
    const Vec g = load_first(gate + i, lanes), u = load_first(up + i, lanes);
    const Vec d = load_first(dy + i, lanes);
    // e^-|g| stays in range for positive and negative g.
    const Vec e = exp2_precise(max(max(g, Vec{} - g) * splat(-kLog2E), most));
    const Vec near_one = one / (one + e);
    const Vec s = g < 0.0f ? e * near_one : near_one;
    store_first(d_gate + i, lanes, d * u * s * fma(g, one - s, one));
    store_first(d_up + i, lanes, d * g * s);
  }
}

void weights(float* scores, int64_t n, float scale, float lse) {
  const Vec factor = splat(scale * kLog2E), offset = splat(-lse * kLog2E);
  for (int64_t i = 0; i < n; i += kLanes) {
    const int lanes = lanes_at(i, n);
    // Keys that the row does not see may have any score; the caller overwrites them with zeros.
    const Vec exponent = fma(load_first(scores + i, lanes), factor, offset);
    const Vec bounded = Vec{} - max(Vec{} - exponent, splat(-64.0f));
    store_first(scores + i, lanes, exp2_precise(bounded));
  }
}

void scores(const float* weights, int64_t n, float scale, float mean, float* d_weights) {
  const Vec factor = splat(scale), minus = splat(mean);
  for (int64_t i = 0; i < n; i += kLanes) {
    const int lanes = lanes_at(i, n);
    const Vec d = load_first(d_weights + i, lanes) - minus;
    store_first(d_weights + i, lanes, factor * load_first(weights + i, lanes) * d);
  }
}

void products(const float* weights, const float* d_weights, int64_t n, float* sum,
              float* magnitudes) {
  Vec all = {}, sizes = {};
  for (int64_t i = 0; i < n; i += kLanes) {
    const int lanes = lanes_at(i, n);
    const Vec product = load_first(weights + i, lanes) * load_first(d_weights + i, lanes);
    all += product;
    sizes += max(product, Vec{} - product);
  }
  *sum = reduce_add(all);
  *magnitudes = reduce_add(sizes);
}

}  // namespace

const RowGradients kRowGradients = {rms_norm, swiglu, weights, scores, products};

}  // namespace longhaul::LH_ISA
