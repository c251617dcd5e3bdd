// Speed of a gated delta net between its matrices on a GPU, with the heads of Qwen3.6: rows
// of one sequence (with the parts of the computation apart), and decode rows of many sequences,
// which read and write a state each.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <random>
#include <vector>

#include "ops/core/devices.h"
#include "ops/core/gpu/gpu_queue.gpu.h"
#include "ops/delta/delta.gpu.h"
#include "ops/delta/delta_mix.h"

namespace longhaul {
namespace {

constexpr DeltaShape kExperts = {16, 32, 128, 128, 4, false};  // Qwen3.6-35B-A3B
constexpr DeltaShape kDense = {16, 48, 128, 128, 4, false};    // Qwen3.6-27B

class DeltaBench {
 public:
  DeltaBench(const Queue& queue, const DeltaShape& shape) : queue_(queue), shape_(shape) {}

  void prefill(int64_t rows) {
    fill(rows);
    const View<float> state = random(shape_.state(), 0.1f);
    const DeltaTask task = {0, rows, state, state};
    const double seconds = time_of([&] { mix({&task, 1}); });
    // Products of 64 rows of a head: three of [64, 64, 128], four of [64, 128, 128] and two lower
    // triangular ones.
    const double products =
        static_cast<double>(rows) * shape_.value_heads * 2 * 128 * (4 * 64.0 + 3 * 128.0);
    std::printf("prefill of %6d rows %9.1f us %10.0f rows/s %6.1f TFLOP/s\n",
                static_cast<int>(rows), seconds * 1e6, static_cast<double>(rows) / seconds,
                products / seconds / 1e12);
    std::fflush(stdout);
    memory_.clear();
  }

  /// The kernels of one segment.
  void parts() {
    const int64_t rows = kDeltaSegment;
    fill(rows);
    const View<float> state = random(shape_.state(), 0.1f);
    const View<float> memory =
        random(static_cast<int64_t>(delta_device_bytes(shape_, rows) / sizeof(float)), 0.1f);
    const auto sizes = cuda::DeltaSizes::of(shape_);
    const cuda::DeltaAddresses at = {
        in_.qkv.address(),   in_.gates.address(),       in_.beta.address(),
        in_.alpha.address(), in_.convolution.address(), in_.dt_bias.address(),
        in_.rate.address(),  in_.norm.address(),        in_.eps,
        out_.address()};
    const auto room = cuda::DeltaRoom::in(memory.address(), sizes, rows);
    const auto stream = static_cast<cuda::GpuQueue&>(queue_.device()).handle();
    float* const head_states = state.address() + shape_.history();
    const auto report = [&](const char* name, auto&& run) {
      std::printf("  %-12s of %d rows %8.1f us\n", name, static_cast<int>(rows),
                  time_of(run) * 1e6);
    };
    report("convolution",
           [&] { cuda::delta_convolve(stream, sizes, at, state.address(), rows, room.rows); });
    report("chunks", [&] { cuda::delta_chunks(stream, sizes, at, rows, room); });
    report("scan",
           [&] { cuda::delta_scan(stream, sizes, room, rows, head_states, head_states, at.out); });
    report("norm", [&] { cuda::delta_norm(stream, sizes, at, rows); });
    std::fflush(stdout);
    memory_.clear();
  }

  /// Calls have different states, so that the caches do not hold them.
  void decode(int64_t sequences) {
    fill(sequences);
    std::vector<std::vector<DeltaTask>> calls;
    for (int64_t held = 0; held < 64; held += sequences) {
      std::vector<DeltaTask>& tasks = calls.emplace_back();
      for (int64_t i = 0; i < sequences; ++i) {
        const View<float> before = random(shape_.state(), 0.1f);
        tasks.push_back({i, 1, before, random(shape_.state(), 0.1f)});
      }
    }
    size_t call = 0;
    const double seconds = time_of([&] { mix(calls[call++ % calls.size()]); });
    const double bytes = 2.0 * static_cast<double>(sequences * shape_.state()) * sizeof(float);
    std::printf("decode of %3d sequences %8.2f us %8.0f GB/s\n", static_cast<int>(sequences),
                seconds * 1e6, bytes / seconds / 1e9);
    std::fflush(stdout);
    memory_.clear();
  }

 private:
  void mix(std::span<const DeltaTask> tasks) {
    Buffer<float> room;
    delta_mix(queue_, shape_, in_, tasks, out_, room);
  }

  void fill(int64_t rows) {
    in_.qkv = random(rows * shape_.channels(), 1);
    in_.gates = random(rows * shape_.values(), 1);
    in_.beta = random(rows * shape_.value_heads, 1);
    in_.alpha = random(rows * shape_.value_heads, 1);
    in_.convolution = random(shape_.kernel * shape_.channels(), 0.5f);
    in_.dt_bias = random(shape_.value_heads, 1);
    in_.rate = random(shape_.value_heads, 0.1f, -0.5f);
    in_.norm = random(shape_.value_dim, 1);
    in_.eps = 1e-6f;
    out_ = random(rows * shape_.values(), 1);
  }

  /// Random numbers, of which the first million is repeated.
  View<float> random(int64_t count, float size, float middle = 0) {
    std::mt19937 generator(static_cast<uint32_t>(count));
    std::normal_distribution<float> normal(middle, size);
    std::vector<float> some(static_cast<size_t>(std::min<int64_t>(count, 1 << 20)));
    for (float& x : some) x = normal(generator);
    const View<float> all = memory_.emplace_back().resize(queue_, count);
    for (int64_t first = 0; first < count; first += std::ssize(some)) {
      const int64_t piece = std::min<int64_t>(count - first, std::ssize(some));
      queue_.device().upload(some.data(), all.address() + first,
                             static_cast<size_t>(piece) * sizeof(float));
    }
    return all;
  }

  /// Median seconds of a call within several.
  template <class Run>
  double time_of(Run&& run) {
    constexpr int kCalls = 64;
    std::vector<double> times;
    for (int i = 0; i < 7; ++i) {
      queue_.wait();
      const auto begin = std::chrono::steady_clock::now();
      for (int call = 0; call < kCalls; ++call) run();
      queue_.wait();
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
      times.push_back(taken.count() / kCalls);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }

  Queue queue_;
  DeltaShape shape_;
  DeltaInputs in_;
  View<float> out_;
  std::vector<Array<float>> memory_;
};

}  // namespace
}  // namespace longhaul

int main() {
  try {
    const longhaul::Queue queue = longhaul::open_device("cuda");
    longhaul::DeltaBench bench(queue, longhaul::kExperts);
    for (const int64_t rows : {64, 512, 2048, 8192, 32768}) bench.prefill(rows);
    bench.parts();
    for (const int64_t sequences : {1, 2, 4, 8, 16, 32, 64}) bench.decode(sequences);
    std::printf("48 value heads:\n");
    longhaul::DeltaBench(queue, longhaul::kDense).prefill(8192);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
