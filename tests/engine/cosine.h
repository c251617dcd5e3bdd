#pragma once

#include <cmath>
#include <cstddef>
#include <span>

namespace longhaul::testing_support {

/// The cosine of the angle between two vectors of logits; 1: they differ by a positive factor only.
inline double cosine_of(std::span<const float> a, std::span<const float> b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += double{a[i]} * b[i];
    aa += double{a[i]} * a[i];
    bb += double{b[i]} * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

}  // namespace longhaul::testing_support
