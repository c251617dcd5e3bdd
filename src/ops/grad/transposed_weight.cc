#include "ops/grad/transposed_weight.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/assert.h"
#include "base/float_types.h"
#include "base/parallel.h"
#include "ops/core/sgemm.h"
#include "ops/matmul/dequantize.h"

namespace longhaul {
namespace {

constexpr int64_t kRowStretch = 64;  // outputs expanded at a time

/// The factors of an adapter in f32, with the scales applied to the first one.
struct Factors {
  std::vector<float> a, b;  // [rank, cols], [outputs, rank]

  explicit Factors(const LowRank& adapter)
      : a(static_cast<size_t>(adapter.a.elements())), b(static_cast<size_t>(adapter.b.elements())) {
    dequantize_rows(adapter.a, 0, adapter.a.rows(), a.data());
    dequantize_rows(adapter.b, 0, adapter.b.rows(), b.data());
    const auto cols = static_cast<size_t>(adapter.a.cols());
    for (size_t i = 0; i < a.size(); ++i) a[i] *= adapter.scale[i / cols];
  }
};

void put(float value, float& place) { place = value; }
void put(float value, bf16_t& place) { place = f32_to_bf16(value); }

/// Writes outputs [begin, begin + count), expanded, as columns of to [cols, outputs].
template <class T>
void turn(const float* expanded, int64_t begin, int64_t count, int64_t cols, int64_t outputs,
          T* to) {
  for (int64_t c = 0; c < cols; ++c) {
    T* column = to + c * outputs + begin;
    for (int64_t o = 0; o < count; ++o) put(expanded[o * cols + c], column[o]);
  }
}

}  // namespace

const TensorView& TransposedWeight::assign(const TensorView& weight, const LowRank* beside,
                                           DType type) {
  LH_ASSERT(type == DType::F32 || type == DType::BF16);
  const int64_t outputs = weight.rows(), cols = weight.cols();
  view_ = {nullptr, type, 2, {cols, outputs, 1, 1}, weight.name};
  memory_.resize(view_.bytes());
  view_.data = memory_.data();
  std::optional<Factors> factors;
  if (beside != nullptr) factors.emplace(*beside);
  parallel_for((outputs + kRowStretch - 1) / kRowStretch, [&](int64_t stretch, int) {
    thread_local Buffer<float> expanded;
    const int64_t begin = stretch * kRowStretch, count = std::min(kRowStretch, outputs - begin);
    expanded.resize(static_cast<size_t>(count * cols));
    dequantize_row(weight.type, weight.row(begin), count * cols, expanded.data());
    if (factors) {
      const int64_t rank = beside->rank();
      sgemm(count, cols, rank, {factors->b.data() + begin * rank, rank}, {factors->a.data(), cols},
            expanded.data(), cols, true);
    }
    if (type == DType::F32) {
      turn(expanded.data(), begin, count, cols, outputs, reinterpret_cast<float*>(memory_.data()));
    } else {
      turn(expanded.data(), begin, count, cols, outputs, reinterpret_cast<bf16_t*>(memory_.data()));
    }
  });
  return view_;
}

}  // namespace longhaul
