// The GPU's operations of this folder, and the gradients of ops/attention/gate_mix.h.

#include "ops/core/gpu/operations.gpu.h"
#include "ops/grad/rms_norm_backward.h"
#include "ops/grad/swiglu_backward.h"
#include "ops/grad/text_gradients.gpu.h"

namespace longhaul::cuda {

void implement_grad(GpuQueue& queue) {
  queue.implement(
      kAttentionBackward, [](GpuQueue& on, const TextAttention& shape, const AttentionTrace& trace,
                             View<float> dq, View<float> dk, View<float> dv) {
        on.own<TextGradients>().backward(shape, trace, dq.address(), dk.address(), dv.address());
      });
  queue.implement(kAttentionRegions, [](GpuQueue& on, const auto&... arguments) {
    return on.own<TextGradients>().regions(arguments...);
  });
  queue.implement(kRmsNormBackward,
                  [](GpuQueue& on, View<const float> x, View<const float> weight, float eps,
                     View<const float> dy, int64_t rows, int64_t n, View<float> dx, bool add) {
                    rms_norm_backward(on.handle(), x.address(), weight.address(), eps, dy.address(),
                                      rows, n, dx.address(), add);
                  });
  queue.implement(kSwigluBackward, [](GpuQueue& on, View<const float> gate, View<const float> up,
                                      View<const float> dy, View<float> d_gate, View<float> d_up) {
    swiglu_backward(on.handle(), gate.address(), up.address(), dy.address(), dy.size(),
                    d_gate.address(), d_up.address());
  });
  queue.implement(kMixGated, [](GpuQueue& on, const GatedRows& shape, View<const float> gates,
                                View<const float> full, View<const float> near, View<float> out) {
    mix_gated(on.handle(), shape, gates.address(), full.address(), near.address(), out.address());
  });
  queue.implement(kScaleHeads, [](GpuQueue& on, const GatedRows& shape, View<const float> factors,
                                  View<const float> x, View<float> out) {
    scale_heads(on.handle(), shape, factors.address(), x.address(), out.address());
  });
  queue.implement(kAddGateGradient,
                  [](GpuQueue& on, const GatedRows& shape, View<const float> d_mixed,
                     View<const float> full, View<const float> near, View<float> sums) {
                    on.own<TextGradients>().add_gates(shape, d_mixed.address(), full.address(),
                                                      near.address(), sums.address());
                  });
}

}  // namespace longhaul::cuda
