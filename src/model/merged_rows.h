#pragma once
// Rows of one matrix with adapters folded in.

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
  /// `type`: F32, F16, BF16 or Q8_0, of which rows are whole blocks. `file` is for messages.
  MergedRows(const TensorView& matrix, DType type, std::string file);

  /// The adapter stands beside the rows from `begin` on, as many as its B has.
  void add(int64_t begin, const LowRank& adapter);

  /// These rows stand in the place of those from `begin` on.
  void replace(int64_t begin, const TensorView& rows);

  /// Rows [begin, begin + count) in the type; valid until the next call. Throws UserError naming
  /// the matrix where a sum is no number, or too large for the type.
  std::span<const std::byte> get(int64_t begin, int64_t count);

 private:
  struct Factors {
    int64_t begin;
    TensorView b;          ///< [outputs, rank]
    std::vector<float> a;  ///< [rank, cols], times the scales
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
