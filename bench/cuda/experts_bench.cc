// Speed of a layer's mixture of experts on a GPU, including the choice: for decode rows, which read
// the matrices of their chosen experts, and for prefill rows. Choices are random and differ between
// calls, so that few matrices are in the caches.

#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <random>
#include <vector>

#include "ops/core/device_ops.h"
#include "ops/core/devices.h"

namespace longhaul {
namespace {

struct Shape {
  const char* name;
  DType type;
  int experts, used;
  int64_t hidden, ffn;
};
constexpr Shape kShapes[] = {{"Qwen3-30B-A3B", DType::Q4_K, 128, 8, 2048, 768},
                             {"Mixtral-8x7B", DType::Q4_K, 8, 2, 4096, 14336},
                             {"gpt-oss-20b", DType::MXFP4, 32, 4, 2880, 2880}};
constexpr int kCalls = 32;  // each with its own choices

class ExpertBench {
 public:
  ExpertBench(const Queue& queue, const Shape& shape) : queue_(queue), shape_(shape) {
    const int64_t inner = shape.experts * shape.ffn, outer = shape.experts * shape.hidden;
    gate_ = matrix(inner, shape.hidden);
    up_ = matrix(inner, shape.hidden);
    down_ = matrix(outer, shape.ffn);
  }

  void run(int64_t rows) {
    DeviceOps& ops = queue_.device().ops();
    std::vector<float> x(static_cast<size_t>(rows * shape_.hidden), 0.5f);
    std::mt19937 random(static_cast<uint32_t>(rows));
    std::normal_distribution<float> normal;
    std::vector<float> logits(static_cast<size_t>(kCalls * rows * shape_.experts));
    for (float& logit : logits) logit = normal(random);
    const View<float> rows_there = there(x, x_), logits_there = there(logits, logits_);
    const View<float> y = y_.resize(queue_, rows * shape_.hidden);
    const auto input = ops.input();
    ops.take(rows_there, rows, shape_.hidden, *input);
    DeviceExperts experts{.count = shape_.experts, .used = shape_.used};
    experts.gate.weight = gate_.get();
    experts.up.weight = up_.get();
    experts.down.weight = down_.get();
    const int calls = rows > 64 ? 4 : kCalls;
    const auto all = [&] {
      for (int i = 0; i < calls; ++i) {
        ops.mix_experts(*input, logits_there.part(i * rows * shape_.experts, rows * shape_.experts),
                        experts, y, false);
      }
      queue_.wait();
    };
    all();
    const auto begin = std::chrono::steady_clock::now();
    all();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    report(rows, taken.count() / calls);
  }

 private:
  std::shared_ptr<const DeviceMatrix> matrix(int64_t rows, int64_t cols) {
    const std::vector<std::byte> bytes(static_cast<size_t>(rows) * bytes_of(shape_.type, cols),
                                       std::byte{0x11});
    TensorView view;
    view.data = bytes.data();
    view.type = shape_.type;
    view.rank = 2;
    view.shape = {rows, cols, 1, 1};
    return queue_.device().ops().matrix({&view, 1});
  }
  View<float> there(const std::vector<float>& numbers, Array<float>& memory) {
    const View<float> view = memory.resize(queue_, std::ssize(numbers));
    queue_.device().upload(numbers.data(), view.address(), numbers.size() * sizeof(float));
    return view;
  }
  void report(int64_t rows, double seconds) const {
    const auto choices = static_cast<double>(rows * shape_.used);
    const double numbers = 3.0 * static_cast<double>(shape_.hidden * shape_.ffn);
    const double bytes = choices * numbers * static_cast<double>(traits(shape_.type).block_bytes) /
                         traits(shape_.type).block_size;
    std::printf("%-14s rows %5d %9.1f us  ", shape_.name, static_cast<int>(rows), seconds * 1e6);
    if (rows > 8) {
      std::printf("%7.1f TFLOP/s\n", 2 * choices * numbers / seconds / 1e12);
    } else {
      std::printf("%7.2f TB/s of the weights of all choices\n", bytes / seconds / 1e12);
    }
  }

  Queue queue_;
  const Shape& shape_;
  std::shared_ptr<const DeviceMatrix> gate_, up_, down_;
  Array<float> x_, logits_, y_;
};

}  // namespace
}  // namespace longhaul

int main() {
  try {
    const longhaul::Queue queue = longhaul::open_device("cuda");
    for (const longhaul::Shape& shape : longhaul::kShapes) {
      longhaul::ExpertBench bench(queue, shape);
      for (const int64_t rows : {1, 8, 16, 64, 128, 512, 2048, 8192}) bench.run(rows);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
