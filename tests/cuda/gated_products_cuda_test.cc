// Gated gate and up products of prefill rows in bf16, compared with the separate operations. Their
// intermediate values are f32, and other tests compare them with the host.

#include <gtest/gtest.h>

#include <cmath>
#include <deque>

#include "../ops/random_floats.h"
#include "ops/core/device_ops.h"
#include "ops/matmul/product_forms.gpu.h"
#include "queued.h"
#include "weights_on_device.h"

namespace longhaul::cuda {
namespace {

constexpr int64_t kHidden = 256, kFfn = 544;

class CudaGatedProducts : public OnQueue {
 protected:
  CudaGatedProducts() : ops(queue().device().ops()) {}

  std::shared_ptr<const DeviceMatrix> matrix(DType type, int64_t rows, int64_t cols,
                                             uint32_t seed) {
    return ops.matrix({&host_.emplace_back(type, rows, cols, seed).view, 1});
  }
  std::vector<float> product(const DeviceInput& x, const DeviceMatrix& weight, int64_t rows) {
    const View<float> y = empty_there<float>(rows * weight.rows());
    const DeviceLinear job{&weight, y, {}, false};
    ops.linear(x, {&job, 1});
    return here(y);
  }

  DeviceOps& ops;

 private:
  std::deque<HostMatrix> host_;
};

TEST_F(CudaGatedProducts, EqualProductsAndActivation) {
  for (const DType type : {DType::BF16, DType::Q8_0, DType::Q4_K}) {
    const int64_t ffn = type == DType::Q4_K ? 512 : kFfn;
    for (const int64_t rows : {int64_t{kMostMatvecRows} + 1, int64_t{333}}) {
      const auto gate = matrix(type, ffn, kHidden, 1), up = matrix(type, ffn, kHidden, 2),
                 down = matrix(type, kHidden, ffn, 3);
      const auto input = ops.input(), one = ops.input(), other = ops.input();
      ops.take(there(random_floats(rows * kHidden, 4, 0.3f)), rows, kHidden, *input);
      const View<float> gated = empty_there<float>(rows * ffn);
      const View<float> raised = empty_there<float>(rows * ffn);
      for (const Gating& gating : {Gating{}, kClampedGating}) {
        ASSERT_TRUE(ops.gated_products(*input, *gate, *up, gating, gated, raised, *one));
        const std::vector<float> y = product(*one, *down, rows);
        const DeviceLinear jobs[] = {{gate.get(), gated, {}, false}, {up.get(), raised, {}, false}};
        ops.linear(*input, jobs);
        ops.swiglu(gated, raised, gating, rows, ffn, *other);
        const std::vector<float> expected = product(*other, *down, rows);
        double apart = 0, all = 0;
        for (size_t i = 0; i < y.size(); ++i) {
          apart += std::pow(y[i] - expected[i], 2);
          all += std::pow(expected[i], 2);
        }
        EXPECT_LT(std::sqrt(apart / all), 0.01) << name_of(type) << ' ' << rows << " rows";
      }
    }
  }
}

TEST_F(CudaGatedProducts, DecodeRowsAreLeftToOthers) {
  const auto gate = matrix(DType::Q8_0, kFfn, kHidden, 1);
  const auto input = ops.input(), inner = ops.input();
  ops.take(there(random_floats(2 * kHidden, 4, 0.3f)), 2, kHidden, *input);
  const View<float> room = empty_there<float>(2 * kFfn);
  EXPECT_FALSE(ops.gated_products(*input, *gate, *gate, {}, room, room, *inner));
}

}  // namespace
}  // namespace longhaul::cuda
