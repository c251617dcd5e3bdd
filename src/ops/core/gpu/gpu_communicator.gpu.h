#pragma once
// The communicator of GPUs that share a model's heads. It exchanges few numbers, as in decoding, in
// one step (one_shot.gpu.h), and many numbers, as in prefill, through NCCL.

#include <atomic>
#include <memory>
#include <vector>

#include "base/communicator.h"
#include "ops/core/gpu/gpu_queue.gpu.h"
#include "ops/core/gpu/nccl.gpu.h"
#include "ops/core/gpu/one_shot.gpu.h"

namespace longhaul::cuda {

class GpuCommunicator final : public Communicator {
 public:
  /// Throws UserError if NCCL cannot be used.
  explicit GpuCommunicator(const std::vector<std::shared_ptr<GpuQueue>>& gpus);
  ~GpuCommunicator() override;

  void all_reduce(int rank, float* numbers, int64_t count) override;
  void all_gather(int rank, const int32_t* own, int64_t count, int32_t* all) override;
  using Communicator::all_gather;
  void give_up() noexcept override;
  void begin_anew() override;

 private:
  cudaStream_t stream(int rank) const { return gpus_[static_cast<size_t>(rank)]->handle(); }
  NcclLibrary::Communicator communicator(int rank) const {
    return communicators_[static_cast<size_t>(rank)];
  }
  bool in_one_step(int64_t count) const;
  template <class HandOver>
  void together(HandOver&& hand_over);
  bool any_gpu_failed() const;
  void connect();
  void check_call(int rank, int result);

  const NcclLibrary& nccl_;
  std::vector<std::shared_ptr<GpuQueue>> gpus_;
  std::vector<NcclLibrary::Communicator> communicators_;
  std::unique_ptr<OneShot> one_shot_;  ///< null if the GPUs cannot write into each other's memory
  /// Becomes true when a GPU fails to take part in a collective operation for which other GPUs
  /// wait.
  std::atomic<bool> broken_{false};
};

}  // namespace longhaul::cuda
