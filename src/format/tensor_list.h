#pragma once
// The tensors of one file: those that can be viewed, and those that cannot.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/tensor_view.h"

namespace longhaul {

/// A tensor in a format that no TensorView supports (integers, FP8, more than four dimensions).
/// Requesting it is an error; its presence is not.
struct UnreadableTensor {
  std::string name;
  std::string file;
  std::string reason;  ///< e.g. "has type I64; F32, F16 and BF16 can be read"
};

struct TensorList {
  std::vector<TensorView> tensors;  ///< views into the file, in file order
  std::vector<UnreadableTensor> unreadable;
};

/// Product of the dimensions; empty if it overflows int64 or a dimension is negative.
inline std::optional<int64_t> element_count(std::span<const int64_t> shape) {
  int64_t product = 1;
  for (const int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(product, extent, &product)) return std::nullopt;
  }
  return product;
}

}  // namespace longhaul
