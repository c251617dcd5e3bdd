#pragma once
// GPUs that add up and gather over NCCL, opened when it is needed (218 MB that the program neither
// carries nor is linked with).

#include <memory>
#include <string>
#include <vector>

#include "base/team.h"
#include "ops/cuda/gpu_queue.h"

namespace longhaul::cuda {

/// The part of nccl.h that is used here, declared again so that no toolkit is needed to build:
/// numbers and arguments are those of NCCL's header.
struct NcclLibrary {
  using Communicator = void*;
  static constexpr int kSuccess = 0, kSum = 0, kInt32 = 2, kFloat32 = 7;

  std::string path;  ///< as it was opened
  int version = 0;   ///< 22803: 2.28.3

  int (*init_all)(Communicator*, int devices, const int* numbers);
  int (*destroy)(Communicator);
  int (*abort)(Communicator);
  int (*all_reduce)(const void* from, void* to, size_t count, int type, int operation, Communicator,
                    cudaStream_t);
  int (*all_gather)(const void* from, void* to, size_t count_of_each, int type, Communicator,
                    cudaStream_t);
  const char* (*error_text)(int);
  int (*get_version)(int*);
};

/// Throws UserError that says where it looked.
const NcclLibrary& open_nccl();

class NcclTeam final : public Team {
 public:
  /// Throws UserError.
  explicit NcclTeam(const std::vector<std::shared_ptr<GpuQueue>>& gpus);
  ~NcclTeam() override;

  void add_up(int member, float* numbers, int64_t count) override;
  void gather(int member, const int32_t* own, int64_t count, int32_t* all) override;
  using Team::gather;
  void give_up() noexcept override;
  void begin_anew() override;

 private:
  cudaStream_t stream(int member) const { return gpus_[static_cast<size_t>(member)]->handle(); }
  NcclLibrary::Communicator communicator(int member) const {
    return communicators_[static_cast<size_t>(member)];
  }
  void connect();
  void check_call(int member, int result);

  const NcclLibrary& nccl_;
  std::vector<std::shared_ptr<GpuQueue>> gpus_;
  std::vector<NcclLibrary::Communicator> communicators_;
  std::atomic<bool> broken_{false};  ///< a call failed: another GPU may wait for it for ever
};

}  // namespace longhaul::cuda
