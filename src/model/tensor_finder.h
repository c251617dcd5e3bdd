#pragma once
// TensorFinder finds tensors of a checkpoint by name and shape, and detects unused ones. A file
// with more tensors than its architecture and number of layers require belongs to another kind of
// model.

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

/// The functions that return a tensor throw UserError that names the file and the tensor if the
/// tensor is missing, or has a wrong shape or an unsupported type. The message contains the found
/// and the expected shape.
class TensorFinder {
 public:
  explicit TensorFinder(const Checkpoint& checkpoint);

  bool has(const std::string& tensor) const;
  /// Returns a view of a matrix [rows, cols].
  TensorView matrix(const std::string& tensor, int64_t rows, int64_t cols);
  /// Returns a view of `count` matrices concatenated by rows, [count, rows, cols].
  TensorView matrices(const std::string& tensor, int64_t count, int64_t rows, int64_t cols);
  /// Returns a vector [size] as f32.
  std::vector<float> vector(const std::string& tensor, int64_t size);
  /// Returns vectors [rows, cols] as f32.
  std::vector<float> vectors(const std::string& tensor, int64_t rows, int64_t cols);

  /// Returns `size` numbers as f32. The tensor may have any rank.
  std::vector<float> numbers(const std::string& tensor, int64_t size);
  /// Returns a view [1, cols] of a vector, or of a matrix with one row.
  TensorView row(const std::string& tensor, int64_t cols);

  /// Returns whether there is a tensor of type U8 with this name.
  bool has_bytes(const std::string& tensor) const;
  /// Returns the contents of a tensor of type U8.
  std::span<const std::byte> bytes(const std::string& tensor, const std::vector<int64_t>& shape);

  /// Marks a tensor as used. Call it for tensors that are read without the functions above.
  void mark_used(std::string_view tensor);
  /// Marks all tensors as used whose names begin with `prefix`.
  void leave_out(const std::string& prefix);
  /// Throws UserError if a tensor is unused. `expected` names the kind of model that has no such
  /// tensor.
  void refuse_unused(const std::string& expected) const;

 private:
  std::vector<float> numbers(const TensorView& tensor);
  [[noreturn]] void wrong_shape(const TensorView& tensor, const std::string& expected) const;

  const Checkpoint& checkpoint_;
  std::string file_;
  /// Names of the used tensors, in the checkpoint's memory.
  std::unordered_set<std::string_view, SeededHash> used_;
};

}  // namespace longhaul
