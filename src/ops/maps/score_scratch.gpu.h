#pragma once
// Memory that operations on softmax maps (attention probabilities) and selections keep between
// calls: pinned memory for uploads of plans, and device memory for plans and partial results.

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "ops/core/gpu/stream.h"

struct CUevent_st;

namespace longhaul::cuda {

/// Each stream needs its own ScoreScratch. The memory is allocated on the device that is current at
/// construction. A ScoreScratch must exist until the work of its stream has ended.
class ScoreScratch {
 public:
  ScoreScratch();
  ~ScoreScratch();
  ScoreScratch(const ScoreScratch&) = delete;
  ScoreScratch& operator=(const ScoreScratch&) = delete;

  int processors() const { return processors_; }
  /// Returns the shared memory of a multiprocessor in bytes.
  int shared_per_processor() const { return shared_per_processor_; }
  /// Returns whether the sm_90 kernels are used. Tests set allow_sm90 to false to run the kernels
  /// of other cards.
  bool has_sm90() const { return hopper_ && allow_sm90; }
  bool allow_sm90 = true;

  /// The memory for a plan of `bytes` bytes. The caller writes the plan to `host` and then calls
  /// send(). Kernels that are launched before the next begin() find the plan at `device`. The
  /// addresses are valid even if the plan is empty.
  struct Plan {
    std::byte* host;
    std::byte* device;
    size_t bytes;
  };
  Plan begin(size_t bytes);
  void send(Stream stream, const Plan& plan);
  /// Sends the records of one launch as a plan and returns their device address.
  template <class Record>
  const Record* upload(Stream stream, std::span<const Record> records) {
    const Plan plan = begin(records.size_bytes());
    std::memcpy(plan.host, records.data(), records.size_bytes());
    send(stream, plan);
    return reinterpret_cast<const Record*>(plan.device);
  }

  /// Returns `bytes` bytes of device memory for one call, aligned to 256 bytes. The next call of
  /// room() returns the same memory. If the memory must grow, waits for the device.
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
  /// Each stage is pinned memory for one plan. The host waits if the copies from all stages are
  /// still running. There are 4 to 64 stages, as many as fit into 4 MiB.
  std::vector<Stage> stages_;
  size_t stage_ = 0, stage_bytes_ = 0;
  std::byte* pinned_ = nullptr;  ///< memory of all stages
  std::byte* plan_ = nullptr;
  std::byte* room_ = nullptr;
  size_t room_bytes_ = 0;
};

}  // namespace longhaul::cuda
