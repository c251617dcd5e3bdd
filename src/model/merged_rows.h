#pragma once
// MergedRows computes rows of one matrix W with LoRA adapters merged into it: W + B * A.

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
  /// `type` is the type of the result: F32, F16, BF16 or Q8_0. Rows must consist of whole blocks of
  /// `type`. Error messages contain the file name `file`.
  MergedRows(const TensorView& matrix, DType type, std::string file);

  /// Adds an adapter for rows [begin, begin + number of rows of B).
  void add(int64_t begin, const LowRank& adapter);

  /// Replaces the rows of the matrix from `begin` on by `rows`.
  void replace(int64_t begin, const TensorView& rows);

  /// Returns rows [begin, begin + count) in the type of the result. They are valid until the next
  /// call. Throws a UserError that names the matrix if a weight is NaN or too large for the type.
  std::span<const std::byte> get(int64_t begin, int64_t count);

 private:
  struct Factors {
    int64_t begin;
    TensorView b;          ///< [outputs, rank]
    std::vector<float> a;  ///< [rank, cols], multiplied by the scale
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
