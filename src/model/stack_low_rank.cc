#include "model/stack_low_rank.h"

#include <algorithm>
#include <cstring>

#include "ops/matmul/dequantize.h"

namespace longhaul {
namespace {

TensorView new_matrix(DType type, int64_t rows, int64_t cols,
                      std::vector<Buffer<std::byte>>& memory) {
  TensorView view;
  view.type = type;
  view.rank = 2;
  view.shape = {rows, cols, 1, 1};
  memory.emplace_back(view.bytes());
  view.data = memory.back().data();
  return view;
}

/// Returns a writable row of a matrix that new_matrix() returned.
std::byte* row_of(const TensorView& made, int64_t row) {
  return const_cast<std::byte*>(made.row(row));
}

/// Copies row `from` of `part` to row `to` of `whole`, at an offset of `offset` elements.
void copy_row(const TensorView& part, int64_t from, const TensorView& whole, int64_t to,
              int64_t offset) {
  std::byte* target = row_of(whole, to) + bytes_of(whole.type, offset);
  if (part.type == whole.type) {
    std::memcpy(target, part.row(from), part.row_bytes());
  } else {
    dequantize_row(part.type, part.row(from), part.cols(), reinterpret_cast<float*>(target));
  }
}

/// Returns the common type of one matrix (A or B) of all adapters, or F32 if the types differ.
DType common_type(const std::vector<LowRank>& pieces, TensorView LowRank::*factor) {
  const DType type = (pieces.front().*factor).type;
  const bool same = std::all_of(pieces.begin(), pieces.end(),
                                [&](const LowRank& p) { return (p.*factor).type == type; });
  return same ? type : DType::F32;  // rows of stored matrices consist of whole blocks
}

}  // namespace

LowRank stack_low_rank(std::vector<LowRank> pieces, std::vector<Buffer<std::byte>>& memory) {
  if (pieces.empty()) return {};
  if (pieces.size() == 1) return std::move(pieces.front());
  int64_t rank = 0;
  for (const LowRank& piece : pieces) rank += piece.rank();
  const int64_t inputs = pieces.front().a.cols(), outputs = pieces.front().b.rows();
  LowRank whole;
  whole.a = new_matrix(common_type(pieces, &LowRank::a), rank, inputs, memory);
  whole.b = new_matrix(common_type(pieces, &LowRank::b), outputs, rank, memory);
  int64_t begin = 0;
  for (const LowRank& piece : pieces) {
    for (int64_t r = 0; r < piece.rank(); ++r) copy_row(piece.a, r, whole.a, begin + r, 0);
    for (int64_t n = 0; n < outputs; ++n) copy_row(piece.b, n, whole.b, n, begin);
    whole.scale.insert(whole.scale.end(), piece.scale.begin(), piece.scale.end());
    begin += piece.rank();
  }
  return whole;
}

TensorView reorder_rows(const TensorView& matrix, const std::function<int64_t(int64_t)>& source,
                        std::vector<Buffer<std::byte>>& memory) {
  const TensorView ordered = new_matrix(matrix.type, matrix.rows(), matrix.cols(), memory);
  for (int64_t row = 0; row < matrix.rows(); ++row) {
    std::memcpy(row_of(ordered, row), matrix.row(source(row)), matrix.row_bytes());
  }
  return ordered;
}

}  // namespace longhaul
