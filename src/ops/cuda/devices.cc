// The GPUs that the CUDA driver shows.

#include "ops/devices.h"

#include <cuda_runtime_api.h>

#include <mutex>

#include "base/error.h"
#include "base/parse_number.h"
#include "ops/cuda/cublas_library.h"
#include "ops/cuda/gpu_queue.h"

namespace longhaul {
namespace {

constexpr int kLeastCapability = 80;  // bf16 products

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

/// One queue a device: sessions of a process share weights and take turns.
Queue queue_of(int number) {
  static std::mutex mutex;
  static std::vector<std::weak_ptr<DeviceQueue>> queues;
  const std::lock_guard lock(mutex);
  if (queues.size() <= static_cast<size_t>(number)) queues.resize(static_cast<size_t>(number) + 1);
  std::weak_ptr<DeviceQueue>& known = queues[static_cast<size_t>(number)];
  std::shared_ptr<DeviceQueue> queue = known.lock();
  if (queue == nullptr) known = queue = std::make_shared<cuda::GpuQueue>(number);
  return Queue(queue);
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

Queue open_device(std::string_view name) {
  if (name == "cpu") return {};
  int number = 0;
  const bool any = name == "auto";
  if (!any && name != "cuda") {
    if (!name.starts_with("cuda:") || !parse_number(name.substr(5), number) || number < 0) {
      user_error("--device {}: must be auto, cpu, cuda or cuda:N", name);
    }
  }
  const Devices devices = find_devices();
  if (any) {
    for (const DeviceInfo& info : devices.found) {
      if (devices.why.empty() && info.trouble.empty()) return queue_of(info.number);
    }
    return {};
  }
  if (!devices.why.empty()) user_error("--device {}: {}", name, devices.why);
  if (number >= static_cast<int>(devices.found.size())) {
    user_error("--device {}: there are {} GPUs, from 0 on", name, devices.found.size());
  }
  const DeviceInfo& info = devices.found[static_cast<size_t>(number)];
  if (!info.trouble.empty()) user_error("--device {}: {}: {}", name, info.name, info.trouble);
  return queue_of(number);
}

}  // namespace longhaul
