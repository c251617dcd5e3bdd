#include <cuda_runtime.h>

#include <algorithm>

#include "ops/core/gpu/device_error.gpu.h"
#include "ops/core/gpu/piece_copies.gpu.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

ScoreScratch::ScoreScratch() {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&processors_, cudaDevAttrMultiProcessorCount, device),
        "number of processors");
  check(cudaDeviceGetAttribute(&shared_per_processor_, cudaDevAttrMaxSharedMemoryPerMultiprocessor,
                               device),
        "shared memory of a processor");
  int major = 0, minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "capability");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "capability");
  hopper_ = major == 9 && minor == 0;
}

ScoreScratch::~ScoreScratch() {
  for (const Stage& stage : stages_) cudaEventDestroy(stage.sent);
  cudaFreeHost(pinned_);
  cudaFree(plan_);
  cudaFree(room_);
}

void ScoreScratch::grow(size_t bytes) {
  const size_t wanted = std::max({(bytes + 255) / 256 * 256, 2 * stage_bytes_, size_t{64} << 10});
  check(cudaDeviceSynchronize(), "growing the memory of plans");
  cudaFreeHost(pinned_);
  cudaFree(plan_);
  pinned_ = plan_ = nullptr;
  stage_bytes_ = 0;  // in case the allocation fails
  void* memory = nullptr;
  check(cudaMalloc(&memory, wanted), "memory of plans");
  plan_ = static_cast<std::byte*>(memory);
  make_stages(wanted);
  stage_bytes_ = wanted;
}

void ScoreScratch::make_stages(size_t bytes) {
  constexpr size_t kPinnedBytes = size_t{4} << 20, kMost = 64, kLeast = 4;
  const size_t count = std::clamp(kPinnedBytes / bytes, kLeast, kMost);
  for (; stages_.size() > count; stages_.pop_back()) cudaEventDestroy(stages_.back().sent);
  while (stages_.size() < count) {
    Stage stage;
    check(cudaEventCreateWithFlags(&stage.sent, cudaEventDisableTiming), "cudaEventCreate");
    stages_.push_back(stage);
  }
  void* memory = nullptr;
  check(cudaMallocHost(&memory, count * bytes), "pinned memory of plans");
  pinned_ = static_cast<std::byte*>(memory);
  for (size_t i = 0; i < count; ++i) stages_[i].host = pinned_ + i * bytes;
  stage_ = 0;
}

ScoreScratch::Plan ScoreScratch::begin(size_t bytes) {
  if (bytes > stage_bytes_ || pinned_ == nullptr) grow(bytes);
  stage_ = (stage_ + 1) % stages_.size();
  check(cudaEventSynchronize(stages_[stage_].sent), "waiting for a plan to be sent");
  return {stages_[stage_].host, plan_, bytes};
}

void ScoreScratch::send(Stream stream, const Plan& plan) {
  // One device buffer serves all plans: the stream overwrites it after the previous plan's kernels.
  send_pinned(stream, {plan.host, plan.device, plan.bytes});
  check(cudaEventRecord(stages_[stage_].sent, stream), "cudaEventRecord");
}

std::byte* ScoreScratch::room(size_t bytes) {
  if (bytes > room_bytes_) {
    check(cudaDeviceSynchronize(), "growing memory");
    cudaFree(room_);
    room_ = nullptr;
    room_bytes_ = 0;
    const size_t more = std::max(bytes, size_t{1} << 20);
    void* memory = nullptr;
    check(cudaMalloc(&memory, more), "cudaMalloc");
    room_ = static_cast<std::byte*>(memory);
    room_bytes_ = more;
  }
  return room_;
}

}  // namespace longhaul::cuda
