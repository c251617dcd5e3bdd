#include "ops/attention/gate_mix.h"

#include "base/on_device.h"
#include "base/parallel.h"

namespace longhaul {
namespace {

/// Calls body(at, kv_head) in parallel, with the offset of every row and query head.
template <class Body>
void each_head(const GatedRows& shape, Body&& body) {
  parallel_ranges(shape.rows, 64, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int head = 0; head < shape.heads; ++head) {
        body((row * shape.heads + head) * shape.head_dim, head / shape.group());
      }
    }
  });
}

}  // namespace

void mix_gated(Queue& queue, const GatedRows& shape, View<const float> gates,
               View<const float> full, View<const float> near, View<float> out) {
  LH_ASSERT(gates.size() == shape.kv_heads && full.size() == shape.size());
  LH_ASSERT(near.size() == shape.size() && out.size() == shape.size());
  if (on_device(kMixGated, queue, shape, gates, full, near, out)) return;
  HostStage on(queue);
  const float *const a = host(on(gates)).data(), *const f = host(on(full)).data(),
                     *const n = host(on(near)).data();
  float* const to = host(on(out)).data();
  each_head(shape, [&](int64_t at, int head) {
    const float gate = a[head];
    for (int64_t i = at; i < at + shape.head_dim; ++i) to[i] = gate * f[i] + (1 - gate) * n[i];
  });
}

void scale_heads(Queue& queue, const GatedRows& shape, View<const float> factors,
                 View<const float> x, View<float> out) {
  LH_ASSERT(factors.size() == shape.kv_heads);
  LH_ASSERT(x.size() == shape.size() && out.size() == shape.size());
  if (on_device(kScaleHeads, queue, shape, factors, x, out)) return;
  HostStage on(queue);
  const float *const factor = host(on(factors)).data(), *const from = host(on(x)).data();
  float* const to = host(on(out)).data();
  each_head(shape, [&](int64_t at, int head) {
    for (int64_t i = at; i < at + shape.head_dim; ++i) to[i] = factor[head] * from[i];
  });
}

void add_gate_gradient(Queue& queue, const GatedRows& shape, View<const float> d_mixed,
                       View<const float> full, View<const float> near, View<float> sums) {
  LH_ASSERT(sums.size() == shape.kv_heads && full.size() == shape.size());
  LH_ASSERT(near.size() == shape.size() && d_mixed.size() == shape.size());
  if (on_device(kAddGateGradient, queue, shape, d_mixed, full, near, sums)) return;
  HostStage on(queue);
  const float *const d = host(on(d_mixed)).data(), *const f = host(on(full)).data(),
                     *const n = host(on(near)).data();
  float* const to = host(on(sums)).data();
  const int64_t width = int64_t{shape.group()} * shape.head_dim;
  parallel_for(shape.kv_heads, [&](int64_t head, int) {
    double sum = 0;
    for (int64_t row = 0; row < shape.rows; ++row) {
      const int64_t at = (row * shape.kv_heads + head) * width;
      float products = 0;
      for (int64_t i = at; i < at + width; ++i) products += d[i] * (f[i] - n[i]);
      sum += static_cast<double>(products);
    }
    to[head] += static_cast<float>(sum);
  });
}

}  // namespace longhaul
