#pragma once
// Computes rows of one matrix with adapters merged into the weights.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/tensor_view.h"
#include "ops/matmul/low_rank.h"

namespace longhaul {

class MergedRows {
 public:
  /// `type` is the result's type: F32, F16, BF16 or Q8_0. Rows must consist of whole blocks of it.
  /// `file` is used in messages.
  MergedRows(const TensorView& matrix, DType type, std::string file);

  /// Adds an adapter to the rows from `begin` on. The number of rows is that of its matrix B.
  void add(int64_t begin, const LowRank& adapter);

  /// Replaces the rows from `begin` on by `rows`.
  void replace(int64_t begin, const TensorView& rows);

  /// Returns rows [begin, begin + count) in the result's type. They are valid until the next call.
  /// Throws UserError naming the matrix if a sum is not a number or is too large for the type.
  std::span<const std::byte> get(int64_t begin, int64_t count);

 private:
  struct Factors {
    int64_t begin;
    TensorView b;          ///< [outputs, rank]
    std::vector<float> a;  ///< [rank, cols], multiplied by the scales
  };

  struct Replacement {
    int64_t begin;
    TensorView rows;
  };

  void take_values(int64_t begin, int64_t count);
  void add_product(const Factors& factors, int64_t row, float* values) const;
  void check(const std::vector<float>& values) const;

  TensorView matrix_;
  DType type_;
  std::string file_;
  std::vector<Factors> factors_;
  std::vector<Replacement> replacements_;
  std::vector<float> values_;
  std::vector<std::byte> bytes_;
};

}  // namespace longhaul
