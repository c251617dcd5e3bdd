#pragma once
// Elementwise additions on the host, for residual connections, scaled vectors and biases.

#include <cstdint>

namespace longhaul {

/// Adds x[r, i], and also bias[i] unless `bias` is null, to y[r, i]. x and y are contiguous arrays
/// [rows, n].
void add(float* y, const float* x, int64_t rows, int64_t n, const float* bias = nullptr);

/// Adds scale * x[i] to y[i] for each i below `count`.
void add_scaled(float* y, const float* x, int64_t count, float scale);

/// Adds bias[i] to y[r, i] for all r < rows and i < n. Row r of y begins at y + r * stride.
void add_bias(float* y, const float* bias, int64_t rows, int64_t n, int64_t stride);

}  // namespace longhaul
