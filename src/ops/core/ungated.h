#pragma once
// Activation functions f of feed-forward networks without a gate, which compute y = down(f(up(x))).

#include <cstdint>

#include "base/array.h"

namespace longhaul {

enum class Ungated : uint8_t {
  kNone,         ///< the network has a gate (ops/core/swiglu.h)
  kSquaredRelu,  ///< max(x, 0)^2 (So et al. 2021, arXiv:2109.08668)
  kXielu,        ///< xIELU with two trained parameters per layer (Huang 2024, arXiv:2411.13010)
};

/// Parameters of xIELU: f(x) = alpha_p * x^2 + beta * x for x > 0. Otherwise
/// f(x) = alpha_n * (expm1(min(x, eps)) - x) + beta * x.
struct Xielu {
  float alpha_p = 0, alpha_n = 0, beta = 0, eps = 0;
};

/// Replaces each x[i] by f(x[i]) for i below `count`.
void activate(Ungated function, const Xielu& xielu, float* x, int64_t count);
/// Like activate() above, for numbers in the memory of the queue.
void activate(Queue& queue, Ungated function, const Xielu& xielu, View<float> x);
inline const DeviceOperation<bool(Ungated, const Xielu&, View<float>)> kActivate;

}  // namespace longhaul
