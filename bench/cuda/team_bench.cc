// Cost of a sum over all GPUs of a machine: by writes into each other's memory
// (ops/core/gpu/one_shot.gpu.h) and over NCCL. Prints microseconds per sum for many consecutive
// sums on the slowest GPU.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>

#include "base/worker_group.h"
#include "ops/core/devices.h"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/core/gpu/nccl.gpu.h"
#include "ops/core/gpu/one_shot.gpu.h"

namespace longhaul::cuda {
namespace {

using Gpus = std::vector<std::shared_ptr<GpuQueue>>;
constexpr int64_t kMostNumbers = int64_t{8192} * 4096;

/// The threads of all GPUs queue `calls` sums and wait for them.
double microseconds(const Gpus& gpus, WorkerGroup& workers, int calls,
                    const std::function<void(int)>& sum) {
  double best = 1e30;
  for (int run = 0; run < 5; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    const auto thrown = workers.run(
        [&](int rank) {
          GpuQueue& gpu = *gpus[static_cast<size_t>(rank)];
          gpu.enter();
          for (int call = 0; call < calls; ++call) sum(rank);
          gpu.wait();
        },
        [] {});
    for (const std::exception_ptr& each : thrown) {
      if (each != nullptr) std::rethrow_exception(each);
    }
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count() / calls);
  }
  return best;
}

void bench(const Gpus& gpus) {
  WorkerGroup workers(static_cast<int>(gpus.size()));
  const auto one_shot = OneShot::between(gpus);
  const NcclLibrary& nccl = open_nccl();
  std::vector<NcclLibrary::Communicator> communicators(gpus.size());
  std::vector<int> places;
  std::vector<float*> numbers;
  for (const auto& gpu : gpus) {
    places.push_back(gpu->place().device);
    gpu->enter();
    numbers.push_back(static_cast<float*>(gpu->allocate(kMostNumbers * sizeof(float))));
    gpu->clear(numbers.back(), kMostNumbers * sizeof(float));
  }
  const auto checked = [&nccl](int result) {
    if (result != NcclLibrary::kSuccess) throw DeviceError(nccl.error_text(result));
  };
  checked(nccl.init_all(communicators.data(), static_cast<int>(gpus.size()), places.data()));
  std::printf("%zu GPUs, NCCL %d%s\n", gpus.size(), nccl.version,
              one_shot == nullptr ? ", which cannot write into each other's memory" : "");
  std::printf("%12s %12s %12s %12s\n", "numbers", "one shot us", "NCCL us", "NCCL GB/s");
  for (const int64_t count : {int64_t{32}, int64_t{4096}, int64_t{16384}, int64_t{65536},
                              int64_t{1} << 20, kMostNumbers}) {
    const int calls = count > 1 << 17 ? 20 : 400;
    if (one_shot != nullptr && count <= OneShot::kMostWords) {
      const double took = microseconds(gpus, workers, calls, [&](int rank) {
        one_shot->all_reduce(rank, numbers[static_cast<size_t>(rank)], count);
      });
      std::printf("%12lld %12.1f", static_cast<long long>(count), took);
    } else {
      std::printf("%12lld %12s", static_cast<long long>(count), "");
    }
    const double took = microseconds(gpus, workers, calls, [&](int rank) {
      const auto m = static_cast<size_t>(rank);
      checked(nccl.all_reduce(numbers[m], numbers[m], static_cast<size_t>(count),
                              NcclLibrary::kFloat32, NcclLibrary::kSum, communicators[m],
                              gpus[m]->handle()));
    });
    std::printf(" %12.1f %12.1f\n", took, 4e-3 * static_cast<double>(count) / took);
  }
}

}  // namespace
}  // namespace longhaul::cuda

int main() {
  using namespace longhaul;
  try {
    const size_t count = find_devices().found.size();
    if (count < 2) return std::puts("team_bench needs two GPUs"), 77;
    cuda::Gpus gpus;
    for (size_t i = 0; i < count; ++i) {
      gpus.push_back(std::make_shared<cuda::GpuQueue>(static_cast<int>(i)));
    }
    cuda::bench(gpus);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
