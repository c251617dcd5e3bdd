// The GPUs that the CUDA driver reports.

#include "ops/core/devices.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "base/error.h"
#include "base/parse_number.h"
#include "ops/core/gpu/cublas_library.h"
#include "ops/core/gpu/gpu_communicator.gpu.h"
#include "ops/core/gpu/gpu_queue.gpu.h"
#include "ops/core/gpu/nccl.gpu.h"

namespace longhaul {
namespace {

constexpr int kLeastCapability = 80;  // required for bf16 products

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

DeviceInfo look_at(int number) {
  DeviceInfo info;
  info.number = number;
  cudaDeviceProp properties;
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, number);
      error != cudaSuccess) {
    info.trouble = cudaGetErrorString(error);
    return info;
  }
  info.name = properties.name;
  info.memory = properties.totalGlobalMem;
  info.major = properties.major;
  info.minor = properties.minor;
  info.processors = properties.multiProcessorCount;
  size_t all = 0;
  if (cudaSetDevice(number) != cudaSuccess || cudaMemGetInfo(&info.free, &all) != cudaSuccess) {
    info.trouble = cudaGetErrorString(cudaGetLastError());
  } else if (10 * info.major + info.minor < kLeastCapability) {
    info.trouble =
        fmt::format("compute capability {}.{}, and 8.0 is the least", info.major, info.minor);
  }
  return info;
}

/// One queue per device: the sessions of a process share weights and take turns.
std::shared_ptr<cuda::GpuQueue> gpu(int number) {
  static std::mutex mutex;
  static std::map<int, std::weak_ptr<cuda::GpuQueue>> queues;
  const std::lock_guard lock(mutex);
  std::weak_ptr<cuda::GpuQueue>& known = queues[number];
  std::shared_ptr<cuda::GpuQueue> queue = known.lock();
  if (queue == nullptr) known = queue = std::make_shared<cuda::GpuQueue>(number);
  return queue;
}

/// The queue of member 0 of a team. There is one team per set of devices.
Queue queue_of(const std::vector<int>& numbers) {
  if (numbers.size() == 1) return Queue(gpu(numbers.front()));
  static std::mutex mutex;
  static std::map<std::vector<int>, std::weak_ptr<Communicator>> teams;
  const std::lock_guard lock(mutex);
  std::weak_ptr<Communicator>& known = teams[numbers];
  std::shared_ptr<Communicator> communicator = known.lock();
  if (communicator == nullptr) {
    std::vector<std::shared_ptr<cuda::GpuQueue>> gpus;
    for (const int number : numbers) gpus.push_back(gpu(number));
    known = communicator = std::make_shared<cuda::GpuCommunicator>(gpus);
  }
  return {communicator, 0};
}

/// The device numbers in "cuda", "cuda:1" or "cuda:0,1". Each may occur once.
std::vector<int> numbers_in(std::string_view name) {
  const auto refuse = [&] {
    user_error("--device {}: must be auto, cpu, cuda, cuda:N or cuda:N,M,... of different GPUs",
               name);
  };
  if (name == "cuda") return {0};
  if (!name.starts_with("cuda:")) refuse();
  std::vector<int> numbers;
  for (std::string_view rest = name.substr(5); !rest.empty() || numbers.empty();) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    int number = 0;
    if (!parse_number(item, number) || number < 0) refuse();
    if (std::ranges::find(numbers, number) != numbers.end()) refuse();
    numbers.push_back(number);
  }
  if (name.ends_with(',')) refuse();
  return numbers;
}

}  // namespace

Devices find_devices() {
  Devices devices;
  int driver = 0, runtime = 0, count = 0;
  cudaRuntimeGetVersion(&runtime);
  cudaDriverGetVersion(&driver);
  if (driver > 0) devices.driver = fmt::format("CUDA {}", version_text(driver));
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (driver == 0) {
    devices.why = "no NVIDIA driver was found (libcuda.so.1 is part of it)";
  } else if (error != cudaSuccess) {
    devices.why =
        fmt::format("the driver knows CUDA {}, this program was built with {}: {}",
                    version_text(driver), version_text(runtime), cudaGetErrorString(error));
  } else if (count == 0) {
    devices.why = "the driver shows no GPU";
  }
  if (!devices.why.empty()) return devices;
  for (int number = 0; number < count; ++number) devices.found.push_back(look_at(number));
  try {
    devices.library = cuda::open_cublas().path;
  } catch (const UserError& missing) {
    devices.why = missing.what();
  }
  return devices;
}

std::string find_collectives() {
  try {
    return cuda::open_nccl().path;
  } catch (const UserError&) {  // --device cuda:N,M reports what is missing
    return {};
  }
}

Queue open_device(std::string_view name) {
  if (name == "cpu") return {};
  const bool any = name == "auto";
  const std::vector<int> numbers = any ? std::vector<int>() : numbers_in(name);
  const Devices devices = find_devices();
  if (any) {
    for (const DeviceInfo& info : devices.found) {
      if (devices.why.empty() && info.trouble.empty()) return queue_of({info.number});
    }
    return {};
  }
  if (!devices.why.empty()) user_error("--device {}: {}", name, devices.why);
  for (const int number : numbers) {
    if (number >= static_cast<int>(devices.found.size())) {
      user_error("--device {}: there are {} GPUs, from 0 on", name, devices.found.size());
    }
    const DeviceInfo& info = devices.found[static_cast<size_t>(number)];
    if (!info.trouble.empty()) user_error("--device {}: {}: {}", name, info.name, info.trouble);
  }
  return queue_of(numbers);
}

}  // namespace longhaul
