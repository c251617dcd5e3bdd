#pragma once
// What a reader of one file finds: tensors that can be viewed, and those that cannot.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/tensor_view.h"

namespace longhaul {

/// A tensor that is in the file but in a form that no TensorView can hold (integers, FP8, more than
/// four dimensions). Asking for it is an error; its presence is not.
struct UnreadableTensor {
  std::string name;
  std::string file;
  std::string reason;  ///< e.g. "has type I64; F32, F16 and BF16 can be read"
};

struct TensorList {
  std::vector<TensorView> tensors;  ///< views into the file, in its order
  std::vector<UnreadableTensor> unreadable;
};

/// Product of the dimensions; empty when it leaves int64 or a dimension is negative.
inline std::optional<int64_t> element_count(std::span<const int64_t> shape) {
  int64_t product = 1;
  for (const int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(product, extent, &product)) return std::nullopt;
  }
  return product;
}

}  // namespace longhaul
