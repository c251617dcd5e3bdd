// Copies of weights for prefill products. They are made if there is memory and dropped on request,
// and they do not change results.

#include <gtest/gtest.h>

#include "cuda/on_device.h"
#include "cuda/queued.h"
#include "cuda/weights_on_device.h"
#include "ops/core/device_ops.h"
#include "ops/core/gpu/gpu_queue.gpu.h"

namespace longhaul::cuda {
namespace {

using WeightCopiesTest = OnQueue;

TEST_F(WeightCopiesTest, ChangeNoResultAndAreGivenBack) {
  constexpr int64_t kRows = 100, kOutputs = 512, kColumns = 256;
  DeviceOps& ops = queue().device().ops();
  WeightCopies& copies = *static_cast<GpuQueue&>(queue().device()).copies();
  const size_t before = copies.bytes();
  const HostMatrix weight(DType::Q8_0, kOutputs, kColumns, random_floats(kOutputs * kColumns, 5));
  {
    const auto matrix = ops.matrix({&weight.view, 1});
    const auto input = ops.input();
    const View<float> x = there(random_floats(static_cast<size_t>(kRows * kColumns), 6));
    ops.take(x, kRows, kColumns, *input);
    const View<float> y = empty_there<float>(kRows * kOutputs);
    const DeviceLinear product{matrix.get(), y, {}, false};
    for (int i = 0; i < WeightCopies::kPassesBefore; ++i) ops.linear(*input, {&product, 1});
    EXPECT_EQ(copies.bytes(), before);
    ops.linear(*input, {&product, 1});
    const std::vector<float> copied = here(y);
    EXPECT_EQ(copies.bytes(), before + kOutputs * kColumns * 2);
    copies.give_up();
    EXPECT_EQ(copies.bytes(), 0);
    ops.linear(*input, {&product, 1});
    EXPECT_EQ(here(y), copied);
    EXPECT_EQ(copies.bytes(), 0) << "made again after it was given up";
  }
}

}  // namespace
}  // namespace longhaul::cuda
