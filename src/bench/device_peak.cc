#include "bench/device_peak.h"

#include <algorithm>

#include "base/array.h"
#include "base/float_types.h"
#include "bench/best_rate.h"
#include "ops/core/device_ops.h"

namespace longhaul {
namespace {

constexpr int kFewestDeviceRuns = 3;
constexpr int kAtOnce = 8;  // operations queued by the host before it waits

/// Random numbers within +-1. Constants would use less power when multiplied, and clocks would rise
/// by a tenth.
std::vector<float> random_numbers(int64_t count) {
  std::vector<float> numbers(static_cast<size_t>(count));
  uint32_t x = 1;
  for (float& n : numbers) {
    x = x * 1664525 + 1013904223;
    n = static_cast<float>(static_cast<int32_t>(x)) * 0x1p-31f;
  }
  return numbers;
}

/// Weights of the shape, in the device's format.
std::shared_ptr<const DeviceMatrix> weights_of(DeviceOps& ops, int64_t outputs, int64_t columns) {
  std::vector<bf16_t> numbers;
  for (const float n : random_numbers(outputs * columns)) numbers.push_back(f32_to_bf16(n));
  TensorView weight;
  weight.data = reinterpret_cast<const std::byte*>(numbers.data());
  weight.type = DType::BF16;
  weight.rank = 2;
  weight.shape = {outputs, columns, 1, 1};
  return ops.matrix({&weight, 1});
}

double product_flops(Queue& queue, const GemmShape& s, Compute compute, double seconds) {
  DeviceOps& ops = queue.device().ops();
  const auto weight = weights_of(ops, s.n, s.k);
  const auto input = ops.input(compute);
  Array<float> x, y;
  const View<float> rows = x.resize(queue, s.m * s.k);
  const std::vector<float> numbers = random_numbers(s.m * s.k);
  queue.device().upload(numbers.data(), rows.address(), numbers.size() * sizeof(float));
  ops.take(rows, s.m, s.k, *input);
  const DeviceLinear product{weight.get(), y.resize(queue, s.m * s.n), {}, false};
  const double runs = best_rate(seconds, kFewestDeviceRuns, [&] {
    for (int i = 0; i < kAtOnce; ++i) ops.linear(*input, {&product, 1});
    queue.wait();
  });
  return kAtOnce * runs * 2 * static_cast<double>(s.m) * static_cast<double>(s.n) *
         static_cast<double>(s.k);
}

double copied_bytes(Queue& queue, size_t bytes) {
  DeviceQueue& device = queue.device();
  const size_t some = std::min(bytes, device.free_bytes() / 4);
  DeviceBuffer from, to;
  device.clear(from.resize(queue.shared_device(), some), some);
  to.resize(queue.shared_device(), some);
  const double runs = best_rate(0, kFewestDeviceRuns, [&] {
    for (int i = 0; i < kAtOnce; ++i) device.copy(from.data(), to.data(), some);
    queue.wait();
  });
  return kAtOnce * runs * 2 * static_cast<double>(some);
}

}  // namespace

MachinePeak measure_device(const Queue& on, const Model& model, Compute compute,
                           const DeviceLoad& load) {
  Queue queue = on;
  MachinePeak peak;
  const auto measure = [&](const GemmShape& shape, bool of_model) {
    peak.gemms.push_back(
        {.shape = shape,
         .of_model = of_model,
         .engine = queue.ranks() * product_flops(queue, shape, compute, load.seconds)});
  };
  measure({load.rows, load.large, load.large}, false);
  for (const GemmShape& shape : shapes_of(model, load.rows)) measure(shape, true);
  peak.memory_bytes_per_second = queue.ranks() * copied_bytes(queue, load.copied_bytes);
  return peak;
}

}  // namespace longhaul
