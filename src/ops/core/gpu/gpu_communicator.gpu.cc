#include "ops/core/gpu/gpu_communicator.gpu.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace longhaul::cuda {
namespace {

std::vector<std::shared_ptr<DeviceQueue>> as_devices(
    const std::vector<std::shared_ptr<GpuQueue>>& gpus) {
  return {gpus.begin(), gpus.end()};
}

}  // namespace

GpuCommunicator::GpuCommunicator(const std::vector<std::shared_ptr<GpuQueue>>& gpus)
    : Communicator(as_devices(gpus)),
      nccl_(open_nccl()),
      gpus_(gpus),
      one_shot_(OneShot::between(gpus)) {
  connect();
}

GpuCommunicator::~GpuCommunicator() {
  for (const auto communicator : communicators_) {
    if (communicator != nullptr) nccl_.destroy(communicator);
  }
}

void GpuCommunicator::connect() {
  std::vector<int> numbers;
  for (const auto& gpu : gpus_) numbers.push_back(gpu->place().device);
  communicators_.assign(numbers.size(), nullptr);
  const int result = nccl_.init_all(communicators_.data(), size(), numbers.data());
  if (result == NcclLibrary::kSuccess) return;
  communicators_.assign(numbers.size(), nullptr);
  user_error("NCCL cannot connect the GPUs: {}", nccl_.error_text(result));
}

void GpuCommunicator::check_call(int rank, int result) {
  if (result == NcclLibrary::kSuccess) return;
  user_error("GPU {}: NCCL: {}", device(rank)->place().device, nccl_.error_text(result));
}

bool GpuCommunicator::in_one_step(int64_t count) const {
  return one_shot_ != nullptr && count <= OneShot::kMostWords;
}

/// All ranks queue their part on their GPUs between two barriers. In between they call nothing
/// else. A GPU that has its part waits for the others, and many driver calls wait for that GPU
/// (loading a kernel at its first launch, freeing memory).
template <class HandOver>
void GpuCommunicator::together(HandOver&& hand_over) {
  barrier();
  try {
    hand_over();
  } catch (...) {  // immediately, since unwinding may wait for the GPUs
    broken_ = true;
    give_up();
    throw;
  }
  barrier();
}

void GpuCommunicator::all_reduce(int rank, float* numbers, int64_t count) {
  together([&] {
    if (in_one_step(count)) return one_shot_->all_reduce(rank, numbers, count);
    check_call(rank,
               nccl_.all_reduce(numbers, numbers, static_cast<size_t>(count), NcclLibrary::kFloat32,
                                NcclLibrary::kSum, communicator(rank), stream(rank)));
  });
}

void GpuCommunicator::all_gather(int rank, const int32_t* own, int64_t count, int32_t* all) {
  together([&] {
    if (in_one_step(count)) return one_shot_->all_gather(rank, own, count, all);
    check_call(rank, nccl_.all_gather(own, all, static_cast<size_t>(count), NcclLibrary::kInt32,
                                      communicator(rank), stream(rank)));
  });
}

/// Whether a GPU has failed, so that others could wait for its part forever.
bool GpuCommunicator::any_gpu_failed() const {
  return std::ranges::any_of(gpus_, [](const auto& gpu) {
    const cudaError_t state = cudaStreamQuery(gpu->handle());
    return state != cudaSuccess && state != cudaErrorNotReady;
  });
}

/// Aborts only if a GPU failed or lacks its part. Otherwise all waits end: a sum is queued on all
/// GPUs or on none.
void GpuCommunicator::give_up() noexcept {
  if (broken_.exchange(false) || any_gpu_failed()) {
    if (one_shot_ != nullptr) one_shot_->give_up();
    for (auto& communicator : communicators_) {
      if (communicator != nullptr) nccl_.abort(std::exchange(communicator, nullptr));
    }
  }
  Communicator::give_up();
}

void GpuCommunicator::begin_anew() {
  Communicator::begin_anew();
  if (one_shot_ != nullptr) one_shot_->begin_anew();
  if (communicators_.front() == nullptr) connect();
}

}  // namespace longhaul::cuda
