#pragma once
// TensorView refers to a tensor in memory that it does not own, usually a mapped file of weights.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/dtype.h"

namespace longhaul {

/// A row-major tensor. `shape[0]` is the slowest dimension; a weight matrix is [outputs, inputs].
/// Rows are packed: row r begins at data + r * row_bytes().
struct TensorView {
  const std::byte* data = nullptr;
  DType type = DType::F32;
  int rank = 0;
  std::array<int64_t, 4> shape{1, 1, 1, 1};
  std::string name;  ///< name of the tensor, for error messages

  int64_t cols() const { return rank == 0 ? 1 : shape[static_cast<size_t>(rank - 1)]; }
  int64_t elements() const { return shape[0] * shape[1] * shape[2] * shape[3]; }
  int64_t rows() const { return cols() == 0 ? 0 : elements() / cols(); }
  size_t row_bytes() const { return bytes_of(type, cols()); }
  size_t bytes() const { return static_cast<size_t>(rows()) * row_bytes(); }
  const std::byte* row(int64_t r) const { return data + static_cast<size_t>(r) * row_bytes(); }

  /// Returns rows [begin, begin + count) of a matrix, such as the query part of a fused projection.
  TensorView slice_rows(int64_t begin, int64_t count) const {
    TensorView part = *this;
    part.data = row(begin);
    part.rank = 2;
    part.shape = {count, cols(), 1, 1};
    return part;
  }
};

}  // namespace longhaul
