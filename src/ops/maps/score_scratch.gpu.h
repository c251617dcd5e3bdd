#pragma once
// What the operations on softmax maps and choices keep from call to call: pinned memory that plans
// are uploaded from, and device memory for plans and partial results.

#include <cstddef>
#include <vector>

#include "ops/core/gpu/stream.h"

struct CUevent_st;

namespace longhaul::cuda {

/// One for each stream, on the device that is current when it is made; it must outlive the work
/// that the stream still has.
class ScoreScratch {
 public:
  ScoreScratch();
  ~ScoreScratch();
  ScoreScratch(const ScoreScratch&) = delete;
  ScoreScratch& operator=(const ScoreScratch&) = delete;

  int processors() const { return processors_; }
  int shared_per_processor() const { return shared_per_processor_; }  ///< bytes
  /// Whether kernels of Hopper run, if allow_sm90 lets them: tests forbid them to see what other
  /// cards do.
  bool has_sm90() const { return hopper_ && allow_sm90; }
  bool allow_sm90 = true;

  /// A plan of `bytes` bytes: written at `host`, then sent, it lies at `device` for the kernels
  /// that are launched before the next plan is begun. A plan of nothing has addresses too.
  struct Plan {
    std::byte* host;
    std::byte* device;
    size_t bytes;
  };
  Plan begin(size_t bytes);
  void send(Stream stream, const Plan& plan);

  /// `bytes` bytes of device memory, 256-byte aligned, for one call: the next room() is the same
  /// memory. Waits for the device where it must grow.
  std::byte* room(size_t bytes);

 private:
  struct Stage {
    std::byte* host = nullptr;
    CUevent_st* sent = nullptr;
  };
  void grow(size_t bytes);
  void make_stages(size_t bytes);

  int processors_ = 1, shared_per_processor_ = 0;
  bool hopper_ = false;
  /// So many plans may be on their way before the host waits: 4 to 64, as many as 4 MiB hold.
  std::vector<Stage> stages_;
  size_t stage_ = 0, stage_bytes_ = 0;
  std::byte* pinned_ = nullptr;  ///< of all stages
  std::byte* plan_ = nullptr;
  std::byte* room_ = nullptr;
  size_t room_bytes_ = 0;
};

}  // namespace longhaul::cuda
