#pragma once
// SideCopies copies between a device and pinned host memory beside the work of the device's queue.
// A device may lack it. The prefix cache of a server then cannot move sequences to host memory.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/device_queue.h"
#include "base/device_table.h"

namespace longhaul {

/// One thread at a time may use the functions, except that allocate_block() and release_block() may
/// be called on any thread, and follow_queue() on the thread of the queue. Errors are thrown as
/// exceptions.
class SideCopies {
 public:
  static constexpr size_t kBlockBytes = size_t{16} << 20;

  virtual ~SideCopies() = default;

  /// Returns kBlockBytes bytes of host memory that the device can access directly (pinned memory).
  /// They are aligned to kBlockBytes. A call takes milliseconds. Throws std::bad_alloc.
  virtual std::byte* allocate_block() = 0;
  virtual void release_block(std::byte* block) noexcept = 0;

  /// Makes later copies wait for the work that the queue of the device has now. It must be called
  /// on the thread of the queue. Call it before memory is read that queued work writes, and before
  /// memory is written that queued work reads.
  virtual void follow_queue() = 0;

  /// Begins to copy pieces from device memory to pinned memory. All pieces together have at most
  /// kBlockBytes bytes. Adjacent pieces of host memory are written by one transfer. Returns the
  /// number of an event that is reached when the copies are complete. Numbers ascend.
  virtual uint64_t download(std::span<const DeviceBytes> pieces) = 0;
  /// Begins to copy pieces from pinned memory to device memory, in the same way.
  virtual uint64_t upload(std::span<const DeviceBytes> pieces) = 0;
  /// Blocks the calling thread until the event is reached.
  virtual void wait_for(uint64_t event) = 0;
};

/// Creates the side copies of a device. They may outlive its queue.
inline const DeviceOperation<std::unique_ptr<SideCopies>()> kSideCopies;

}  // namespace longhaul
