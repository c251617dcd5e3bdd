#pragma once
// Reference for decode products: double-precision sums over x as kernels round it.

#include <algorithm>
#include <cmath>
#include <vector>

namespace longhaul::cuda {

/// Blocks of 32 rounded to int8, as ops/matmul/matvec.h documents it.
inline void round_to_int8(std::vector<double>& x) {
  for (size_t b = 0; b < x.size(); b += 32) {
    float amax = 0;
    for (size_t i = b; i < b + 32; ++i) amax = std::max(amax, std::abs(static_cast<float>(x[i])));
    const float inverse = amax > 0 ? 127.0f / amax : 0.0f;
    for (size_t i = b; i < b + 32; ++i) {
      x[i] = std::nearbyint(static_cast<float>(x[i]) * inverse) * static_cast<double>(amax) / 127;
    }
  }
}

/// y[m, n] for a row of x, and the sum of magnitudes of its terms.
struct Product {
  double sum = 0, size = 1e-6;
};
inline Product product(const std::vector<float>& w, const double* x) {
  Product p;
  for (size_t i = 0; i < w.size(); ++i) {
    p.sum += static_cast<double>(w[i]) * x[i];
    p.size += std::abs(static_cast<double>(w[i]) * x[i]);
  }
  return p;
}

}  // namespace longhaul::cuda
