#include "ops/cuda/nccl.h"

#include <utility>

#include "base/error.h"
#include "ops/cuda/shared_library.h"

namespace longhaul::cuda {
namespace {

constexpr const char* kNames[] = {"libnccl.so.2"};
constexpr const char* kPackages[] = {"nccl/lib"};

NcclLibrary load() {
  const SharedLibrary library(
      {kNames, kPackages,
       "install NVIDIA's NCCL (libnccl2, or the PyPI package nvidia-nccl-cu13)"});
  NcclLibrary l{};
  l.path = library.path();
  library.take("ncclCommInitAll", l.init_all);
  library.take("ncclCommDestroy", l.destroy);
  library.take("ncclCommAbort", l.abort);
  library.take("ncclAllReduce", l.all_reduce);
  library.take("ncclAllGather", l.all_gather);
  library.take("ncclGetErrorString", l.error_text);
  library.take("ncclGetVersion", l.get_version);
  l.get_version(&l.version);
  return l;
}

std::vector<std::shared_ptr<DeviceQueue>> as_devices(
    const std::vector<std::shared_ptr<GpuQueue>>& gpus) {
  return {gpus.begin(), gpus.end()};
}

}  // namespace

const NcclLibrary& open_nccl() {
  static const NcclLibrary opened = load();
  return opened;
}

NcclTeam::NcclTeam(const std::vector<std::shared_ptr<GpuQueue>>& gpus)
    : Team(as_devices(gpus)), nccl_(open_nccl()), gpus_(gpus) {
  connect();
}

NcclTeam::~NcclTeam() {
  for (const auto communicator : communicators_) {
    if (communicator != nullptr) nccl_.destroy(communicator);
  }
}

void NcclTeam::connect() {
  std::vector<int> numbers;
  for (const auto& gpu : gpus_) numbers.push_back(gpu->place().device);
  communicators_.assign(numbers.size(), nullptr);
  const int result = nccl_.init_all(communicators_.data(), size(), numbers.data());
  if (result == NcclLibrary::kSuccess) return;
  user_error("NCCL cannot connect the GPUs: {}", nccl_.error_text(result));
}

void NcclTeam::check_call(int member, int result) {
  if (result == NcclLibrary::kSuccess) return;
  broken_ = true;
  user_error("GPU {}: NCCL: {}", device(member)->place().device, nccl_.error_text(result));
}

/// All have come before any hands its part to the GPU: where one fails before, no GPU waits for it.
void NcclTeam::add_up(int member, float* numbers, int64_t count) {
  meet();
  check_call(member,
             nccl_.all_reduce(numbers, numbers, static_cast<size_t>(count), NcclLibrary::kFloat32,
                              NcclLibrary::kSum, communicator(member), stream(member)));
}

void NcclTeam::gather(int member, const int32_t* own, int64_t count, int32_t* all) {
  meet();
  check_call(member, nccl_.all_gather(own, all, static_cast<size_t>(count), NcclLibrary::kInt32,
                                      communicator(member), stream(member)));
}

void NcclTeam::give_up() noexcept {
  if (broken_.exchange(false)) {
    for (auto& communicator : communicators_) nccl_.abort(std::exchange(communicator, nullptr));
  }
  Team::give_up();
}

void NcclTeam::begin_anew() {
  if (communicators_.front() == nullptr) connect();
  Team::begin_anew();
}

}  // namespace longhaul::cuda
