#include "ops/matmul/head_products.h"

#include <algorithm>

#include "base/on_device.h"
#include "ops/matmul/linear.h"

namespace longhaul {

void multiply_heads(Queue& queue, int64_t rows, const HeadMatrices& w,
                    const HeadNumbers<const float>& x, const HeadNumbers<float>& y) {
  LH_ASSERT(w.type == DType::F32 || w.type == DType::BF16);
  LH_ASSERT(x.first + w.inputs <= x.width && y.first + w.outputs <= y.width);
  LH_ASSERT(x.numbers.size() >= rows * w.heads * x.width);
  LH_ASSERT(y.numbers.size() >= rows * w.heads * y.width);
  if (rows == 0 || on_device(kMultiplyHeads, queue, rows, w, x, y)) return;
  HostStage on(queue);
  float* const to = on(y.numbers).address();
  const float* const from = on(x.numbers).address();
  TensorView all;
  all.type = w.type;
  all.data = on(w.numbers).address();
  all.shape = {w.heads * w.outputs, w.inputs, 1, 1};
  all.rank = 2;
  Buffer<float> packed, product;
  packed.resize(static_cast<size_t>(rows * w.inputs));
  product.resize(static_cast<size_t>(rows * w.outputs));
  LinearInput input;
  for (int64_t h = 0; h < w.heads; ++h) {
    for (int64_t r = 0; r < rows; ++r) {
      std::copy_n(from + (r * w.heads + h) * x.width + x.first, w.inputs,
                  packed.data() + r * w.inputs);
    }
    input.assign(packed.data(), rows, w.inputs);
    linear(input,
           LinearJob{.weight = all.slice_rows(h * w.outputs, w.outputs), .y = product.data()},
           Compute::kF32);
    for (int64_t r = 0; r < rows; ++r) {
      std::copy_n(product.data() + r * w.outputs, w.outputs,
                  to + (r * w.heads + h) * y.width + y.first);
    }
  }
}

}  // namespace longhaul
