#pragma once
// State that operations on softmax maps and choices keep between calls: pinned memory for uploads
// of plans, and device memory for plans and partial results.

#include <cstddef>
#include <vector>

#include "ops/core/gpu/stream.h"

struct CUevent_st;

namespace longhaul::cuda {

/// Each stream has one, on the device that is current at construction. It must outlive the stream's
/// pending work.
class ScoreScratch {
 public:
  ScoreScratch();
  ~ScoreScratch();
  ScoreScratch(const ScoreScratch&) = delete;
  ScoreScratch& operator=(const ScoreScratch&) = delete;

  int processors() const { return processors_; }
  int shared_per_processor() const { return shared_per_processor_; }  ///< bytes
  /// sm_90 kernels are used. Tests clear allow_sm90 to cover the path of other cards.
  bool has_sm90() const { return hopper_ && allow_sm90; }
  bool allow_sm90 = true;

  /// A plan of `bytes` bytes. Write it at `host`, then send it. It lies at `device` for the kernels
  /// that are launched before the next begin(). An empty plan also has addresses.
  struct Plan {
    std::byte* host;
    std::byte* device;
    size_t bytes;
  };
  Plan begin(size_t bytes);
  void send(Stream stream, const Plan& plan);

  /// Returns `bytes` bytes of device memory, 256-byte aligned, for one call. The next room()
  /// returns the same memory. Waits for the device if the memory must grow.
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
  /// Plans that may be in flight before the host waits: 4 to 64, as many as 4 MiB hold.
  std::vector<Stage> stages_;
  size_t stage_ = 0, stage_bytes_ = 0;
  std::byte* pinned_ = nullptr;  ///< memory of all stages
  std::byte* plan_ = nullptr;
  std::byte* room_ = nullptr;
  size_t room_bytes_ = 0;
};

}  // namespace longhaul::cuda
