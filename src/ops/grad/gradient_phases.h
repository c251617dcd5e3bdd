#pragma once
// Gradients as GPU threads compute them: functions for single elements, and functions for rows in
// phases (ops/core/gpu/block.h). Tests can run both on the host.

#include <cmath>

#include "ops/core/gpu/block.h"
#include "ops/core/gpu/numbers.h"

namespace longhaul::cuda {

/// The softmax weight of a (row, key) pair, and the gradient of the loss with respect to the dot
/// product of its query and key.
struct PairGradient {
  float weight, d_score;
};

/// Returns whether row `row` sees key `key` (see TextAttention).
LH_EVERYWHERE bool sees(int64_t row, int64_t key, int64_t sink, int64_t window) {
  return key <= row && (key < sink || row - key < window);
}

LH_EVERYWHERE float softmax_weight(float score, float scale, float lse) {
  return expf(fmaf(score, scale, -lse));
}

/// Computes the softmax weight and the gradient of a pair. `score` is query . key, `d_weight` is
/// d_out . value, and `mean` is d_out . out.
LH_EVERYWHERE PairGradient pair_gradient(float score, float d_weight, float scale, float lse,
                                         float mean) {
  const float weight = softmax_weight(score, scale, lse);
  return {weight, scale * weight * (d_weight - mean)};
}

/// The gradients with respect to one element of gate and of up (ops/grad/swiglu_backward.h).
struct SwigluGradient {
  float gate, up;
};
LH_EVERYWHERE SwigluGradient swiglu_gradient(float gate, float up, float dy) {
  const float s = 1.0f / (1.0f + expf(-gate));
  return {dy * up * s * fmaf(gate, 1.0f - s, 1.0f), dy * gate * s};
}

/// Arguments of the gradient for one row (ops/grad/rms_norm_backward.h).
struct RmsGradient {
  const float *x, *weight, *dy;
  float eps;
  int64_t n;
  float* dx;
  bool add;
};
template <class Block>
LH_PHASES void rms_gradient_row(const Block& block, SumShared<2>& shared, const RmsGradient& g,
                                int64_t row) {
  const float *const x = g.x + row * g.n, *const dy = g.dy + row * g.n;
  float* const dx = g.dx + row * g.n;
  block.sums(shared, [&](int t, double* sums) {
    float squares = 0, products = 0;
    for (int64_t i = t; i < g.n; i += kBlockThreads) {
      squares = fmaf(x[i], x[i], squares);
      products = fmaf(g.weight[i] * x[i], dy[i], products);
    }
    sums[0] += squares;
    sums[1] += products;
  });
  const auto n = static_cast<float>(g.n);
  const float r = 1.0f / sqrtf(static_cast<float>(shared.all[0]) / n + g.eps);
  const float shrink = r * r / n * static_cast<float>(shared.all[1]);
  block.each([&](int t) {  // one thread reads and writes each element, because dx may be dy
    for (int64_t i = t; i < g.n; i += kBlockThreads) {
      const float value = r * (g.weight[i] * dy[i] - x[i] * shrink);
      dx[i] = g.add ? dx[i] + value : value;
    }
  });
}

/// Returns one KV head's gate gradient (ops/attention/gate_mix.h) over rows [begin, end): the sum
/// of d * (full - near), where d is d_mixed. A row has `width` elements, and rows begin `stride`
/// elements apart.
template <class Block>
LH_PHASES float gate_gradient(const Block& block, SumShared<1>& shared, const float* d,
                              const float* full, const float* near, int64_t begin, int64_t end,
                              int64_t width, int64_t stride) {
  block.sums(shared, [&](int t, double* sums) {
    // A call covers 1 / kGateParts (1 / 32) of the rows. For a million rows of 2,048 elements, it
    // covers 2^26 elements, so 32 bits suffice.
    const auto of_row = static_cast<uint32_t>(width);
    const auto count = static_cast<uint32_t>((end - begin) * width);
    for (auto i = static_cast<uint32_t>(t); i < count; i += kBlockThreads) {
      const int64_t at = (begin + i / of_row) * stride + i % of_row;
      sums[0] += d[at] * (full[at] - near[at]);
    }
  });
  return static_cast<float>(shared.all[0]);
}

/// Arguments for the contribution of one row of attention to the three regions
/// (ops/grad/attention_backward.h). The results are a sum and a magnitude for each of the
/// streaming, last and middle regions.
struct RegionRow {
  const float *scores, *d_weights;  ///< query . key and d_out . value, for keys 0, 1, and so on
  float scale, lse;
  int64_t row, tokens, sink, window, last;
};
template <class Block>
LH_PHASES void region_row(const Block& block, SumShared<6>& shared, const RegionRow& r) {
  block.sums(shared, [&](int t, double* sums) {
    const int rest = r.row >= r.tokens - r.last ? 1 : 2;
    for (int64_t key = t; key <= r.row; key += kBlockThreads) {
      const float product = softmax_weight(r.scores[key], r.scale, r.lse) * r.d_weights[key];
      const bool streaming = key <= r.sink || r.row - key <= r.window;
      // The indices are constants, so that the sums stay in registers.
      for (int region = 0; region < 3; ++region) {
        const float counted = region == (streaming ? 0 : rest) ? product : 0.0f;
        sums[2 * region] += counted;
        sums[2 * region + 1] += fabsf(counted);
      }
    }
  });
}

}  // namespace longhaul::cuda
