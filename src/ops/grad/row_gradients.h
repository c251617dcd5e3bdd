#pragma once
// Gradient kernels that process one row on the calling thread. rms_norm_backward.cc,
// swiglu_backward.cc and attention_backward.cc call them in parallel for many rows.

#include <cstdint>

#include "ops/core/isa/per_isa.h"

namespace longhaul {

struct RowGradients {
  /// Computes dx = keep * dx + (gradient with respect to x). If `keep` is 0, dx may alias dy.
  void (*rms_norm)(const float* x, const float* weight, float eps, const float* dy, int64_t n,
                   float* dx, float keep);
  void (*swiglu)(const float* gate, const float* up, const float* dy, int64_t n, float* d_gate,
                 float* d_up);
  /// Replaces scores[j] by the softmax weight e^(scale * scores[j] - lse). `lse` is the log of the
  /// row's softmax denominator.
  void (*weights)(float* scores, int64_t n, float scale, float lse);
  /// Replaces d_weights[j] by the gradient with respect to the score:
  /// scale * weights[j] * (d_weights[j] - mean).
  void (*scores)(const float* weights, int64_t n, float scale, float mean, float* d_weights);
  /// Computes the sum of weights[j] * d_weights[j] over j, and the sum of the absolute values of
  /// these terms.
  void (*products)(const float* weights, const float* d_weights, int64_t n, float* sum,
                   float* magnitudes);
};

LH_PER_ISA(RowGradients, kRowGradients)

}  // namespace longhaul
