#pragma once
// The tensors of one file. Some can be viewed, and others are in formats that cannot be read.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/tensor_view.h"

namespace longhaul {

/// A tensor in a format that TensorView does not support (integers, FP8, or more than four
/// dimensions). Its presence is not an error, but its use is.
struct UnreadableTensor {
  std::string name;
  std::string file;
  std::string reason;  ///< such as "has type I64; F32, F16 and BF16 can be read"
  /// The shape and the contents, if the type is U8; otherwise both are empty.
  std::vector<int64_t> shape = {};
  std::span<const std::byte> bytes = {};
};

struct TensorList {
  std::vector<TensorView> tensors;  ///< views into the file, in file order
  std::vector<UnreadableTensor> unreadable;
};

/// Returns the product of the dimensions. The result is empty if it overflows int64 or if a
/// dimension is negative.
inline std::optional<int64_t> element_count(std::span<const int64_t> shape) {
  int64_t product = 1;
  for (const int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(product, extent, &product)) return std::nullopt;
  }
  return product;
}

}  // namespace longhaul
