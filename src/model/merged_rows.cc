#include "model/merged_rows.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>

#include "base/assert.h"
#include "base/error.h"
#include "base/parallel.h"
#include "ops/core/convert.h"
#include "ops/matmul/dequantize.h"
#include "text/printable.h"

namespace longhaul {
namespace {

/// Returns the largest number that the type can represent (for Q8_0, with the largest scale).
float largest(DType type) {
  constexpr float kF16 = 65504, kBf16 = 3.3895e38f;
  if (type == DType::F16) return kF16;
  if (type == DType::Q8_0) return 127 * kF16;
  return type == DType::BF16 ? kBf16 : FLT_MAX;
}

void store(const float* values, int64_t count, DType type, std::byte* to) {
  switch (type) {
    case DType::F32:
      std::memcpy(to, values, static_cast<size_t>(count) * sizeof(float));
      return;
    case DType::F16:
      f32_to_f16(values, count, reinterpret_cast<f16_t*>(to));
      return;
    case DType::BF16:
      f32_to_bf16(values, count, reinterpret_cast<bf16_t*>(to));
      return;
    default:
      LH_ASSERT(type == DType::Q8_0);
      quantize_q8_0(values, count, to);
  }
}

}  // namespace

MergedRows::MergedRows(const TensorView& matrix, DType type, std::string file)
    : matrix_(matrix), type_(type), file_(std::move(file)) {}

void MergedRows::add(int64_t begin, const LowRank& adapter) {
  LH_ASSERT(begin + adapter.b.rows() <= matrix_.rows() && adapter.a.cols() == matrix_.cols());
  Factors f{begin, adapter.b, std::vector<float>(static_cast<size_t>(adapter.a.elements()))};
  const auto cols = static_cast<size_t>(adapter.a.cols());
  dequantize_rows(adapter.a, 0, adapter.rank(), f.a.data());
  for (size_t i = 0; i < f.a.size(); ++i) f.a[i] *= adapter.scale[i / cols];
  factors_.push_back(std::move(f));
}

void MergedRows::replace(int64_t begin, const TensorView& rows) {
  LH_ASSERT(begin + rows.rows() <= matrix_.rows() && rows.cols() == matrix_.cols());
  replacements_.push_back({begin, rows});
}

/// Sets values_ to the stored rows, or to the rows that replace them.
void MergedRows::take_values(int64_t begin, int64_t count) {
  dequantize_rows(matrix_, begin, count, values_.data());
  for (const Replacement& r : replacements_) {
    const int64_t first = std::max(begin, r.begin);
    const int64_t end = std::min(begin + count, r.begin + r.rows.rows());
    if (first >= end) continue;
    dequantize_rows(r.rows, first - r.begin, end - first,
                    values_.data() + (first - begin) * matrix_.cols());
  }
}

void MergedRows::add_product(const Factors& factors, int64_t row, float* values) const {
  const int64_t of_b = row - factors.begin, cols = matrix_.cols();
  if (of_b < 0 || of_b >= factors.b.rows()) return;
  std::vector<float> b(static_cast<size_t>(factors.b.cols()));
  dequantize_row(factors.b.type, factors.b.row(of_b), factors.b.cols(), b.data());
  const float* a = factors.a.data();
  for (const float weight : b) {
    for (int64_t c = 0; c < cols; ++c) values[c] += weight * a[c];
    a += cols;
  }
}

std::span<const std::byte> MergedRows::get(int64_t begin, int64_t count) {
  const int64_t cols = matrix_.cols();
  values_.resize(static_cast<size_t>(count * cols));
  bytes_.resize(bytes_of(type_, count * cols));
  take_values(begin, count);
  parallel_ranges(count, 1, [&](int64_t first, int64_t end) {
    for (int64_t r = first; r < end; ++r) {
      float* values = values_.data() + r * cols;
      for (const Factors& f : factors_) add_product(f, begin + r, values);
    }
  });
  check(values_);
  parallel_ranges(count, 1, [&](int64_t first, int64_t end) {
    const int64_t at = first * cols, size = (end - first) * cols;
    store(values_.data() + at, size, type_, bytes_.data() + bytes_of(type_, at));
  });
  return bytes_;
}

void MergedRows::check(const std::vector<float>& values) const {
  const float most = largest(type_);
  for (const float v : values) {
    if (std::abs(v) <= most) continue;  // the comparison is false for NaN
    user_error("{}: tensor {}: with the adapter it holds {}, which {} cannot hold", file_,
               printable(matrix_.name), v, name_of(type_));
  }
}

}  // namespace longhaul
