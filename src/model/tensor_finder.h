#pragma once
// TensorFinder finds tensors of a checkpoint by name, checks their shapes, and detects tensors that
// are not used. If tensors of a file remain unused, the model is of a kind that the program does
// not support.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/seeded_hash.h"
#include "base/tensor_view.h"

namespace longhaul {

class Checkpoint;

/// The functions that return a tensor or its contents throw a UserError if the tensor is missing,
/// has a wrong shape, or has an unsupported type. The message names the file, the tensor, and its
/// actual and expected shapes.
class TensorFinder {
 public:
  explicit TensorFinder(const Checkpoint& checkpoint);

  bool has(const std::string& tensor) const;
  /// Returns a view of a matrix [rows, cols].
  TensorView matrix(const std::string& tensor, int64_t rows, int64_t cols);
  /// Returns a view of a tensor [count, rows, cols], as one matrix of count * rows rows.
  TensorView matrices(const std::string& tensor, int64_t count, int64_t rows, int64_t cols);
  /// Returns a vector [size] as f32.
  std::vector<float> vector(const std::string& tensor, int64_t size);
  /// Returns the elements of a tensor [rows, cols] as f32.
  std::vector<float> vectors(const std::string& tensor, int64_t rows, int64_t cols);

  /// Returns the `size` elements of a tensor of any shape as f32.
  std::vector<float> numbers(const std::string& tensor, int64_t size);
  /// Returns a view [1, cols] of a tensor [cols] or [1, cols].
  TensorView row(const std::string& tensor, int64_t cols);

  /// Returns whether there is a tensor of type U8 with this name.
  bool has_bytes(const std::string& tensor) const;
  /// Returns the contents of a tensor of type U8.
  std::span<const std::byte> bytes(const std::string& tensor, const std::vector<int64_t>& shape);

  /// Marks a tensor as used. Must be called for tensors that are read without the functions above.
  void mark_used(std::string_view tensor);
  /// Marks all tensors whose names begin with `prefix` as used.
  void leave_out(const std::string& prefix);
  /// Throws UserError if a tensor has not been used. `expected` describes the kind of model for the
  /// message.
  void refuse_unused(const std::string& expected) const;

 private:
  std::vector<float> numbers(const TensorView& tensor);
  [[noreturn]] void wrong_shape(const TensorView& tensor, const std::string& expected) const;

  const Checkpoint& checkpoint_;
  std::string file_;
  /// Names of the used tensors. The strings belong to the checkpoint.
  std::unordered_set<std::string_view, SeededHash> used_;
};

}  // namespace longhaul
