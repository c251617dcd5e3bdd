#pragma once
// Addition of residuals and biases.

#include <cstdint>

namespace longhaul {

/// y[r, i] += x[r, i] (+ bias[i] unless null); [rows, n] packed.
void add(float* y, const float* x, int64_t rows, int64_t n, const float* bias = nullptr);

/// y[i] += scale * x[i] for `count` numbers.
void add_scaled(float* y, const float* x, int64_t count, float scale);

/// y[r, i] += bias[i], rows of y `stride` floats apart.
void add_bias(float* y, const float* bias, int64_t rows, int64_t n, int64_t stride);

}  // namespace longhaul
