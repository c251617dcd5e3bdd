#pragma once
// Defines the list of a file's tensors, in any file format. Tensors in number formats that Longhaul
// does not support are listed separately as unreadable.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/tensor_view.h"

namespace longhaul {

/// A tensor that TensorView cannot represent, because it has integers, FP8 numbers or more than
/// four dimensions. A file may contain such tensors. Checkpoint::find() throws UserError for them,
/// but find_bytes() returns those of type U8.
struct UnreadableTensor {
  std::string name;
  std::string file;
  std::string reason;  ///< such as "has type I64; F32, F16 and BF16 can be read"
  /// Shape and contents of a tensor of type U8. Both are empty for other types.
  std::vector<int64_t> shape = {};
  std::span<const std::byte> bytes = {};
};

struct TensorList {
  std::vector<TensorView> tensors;  ///< views into the file, in file order
  std::vector<UnreadableTensor> unreadable;
};

/// Returns the number of elements of a tensor with this shape. The result is empty if it overflows
/// int64 or if a dimension is negative.
inline std::optional<int64_t> element_count(std::span<const int64_t> shape) {
  int64_t product = 1;
  for (const int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(product, extent, &product)) return std::nullopt;
  }
  return product;
}

}  // namespace longhaul
