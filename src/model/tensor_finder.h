#pragma once
// Tensors of a checkpoint by name and shape, and whether anything is left that nobody asked for: a
// model whose file holds more than its architecture and number of layers explain is another model.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/seeded_hash.h"
#include "base/tensor_view.h"

namespace longhaul {

class Checkpoint;

/// Every function throws UserError naming file and tensor: missing, wrong shape (found and
/// expected), unsupported type.
class TensorFinder {
 public:
  explicit TensorFinder(const Checkpoint& checkpoint);

  bool has(const std::string& tensor) const;
  /// [rows, cols], a view.
  TensorView matrix(const std::string& tensor, int64_t rows, int64_t cols);
  /// [count, rows, cols], a view of `count` matrices one below the other.
  TensorView matrices(const std::string& tensor, int64_t count, int64_t rows, int64_t cols);
  /// [size], as f32.
  std::vector<float> vector(const std::string& tensor, int64_t size);
  /// [rows, cols], as f32.
  std::vector<float> vectors(const std::string& tensor, int64_t rows, int64_t cols);

  /// Says that a tensor has been used without matrix() or vector().
  void mark_used(std::string_view tensor);
  /// Refuses tensors, readable or not, that were not used. `expected`: which model has none such.
  void refuse_unused(const std::string& expected) const;

 private:
  std::vector<float> numbers(const TensorView& tensor);
  [[noreturn]] void wrong_shape(const TensorView& tensor, const std::string& expected) const;

  const Checkpoint& checkpoint_;
  std::string file_;
  std::unordered_set<std::string_view, SeededHash> used_;  ///< names that the checkpoint holds
};

}  // namespace longhaul
