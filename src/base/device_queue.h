#pragma once
// Interface of a device. A device must provide the functions of DeviceQueue, which manage memory
// and run work in order, and the operations of ops/core/device_ops.h. It may implement further
// operations (base/device_table.h), which only add speed.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/device_table.h"
#include "base/place.h"

namespace longhaul {

class DeviceOps;

/// Bytes to copy to a device address, from the host or from the device itself.
struct DeviceBytes {
  const void* from = nullptr;
  void* to = nullptr;
  size_t bytes = 0;
};

/// The queue of a device. Only one thread may use it at a time. Errors of the device (out of
/// memory, a failed kernel, a lost device) are thrown as UserError with the device's name.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;

  virtual Place place() const = 0;
  /// Binds the calling thread to this device.
  virtual void enter() {}
  virtual std::string name() const = 0;   ///< display name, "NVIDIA H100 80GB HBM3"
  virtual size_t free_bytes() const = 0;  ///< free device memory at present

  /// Returns memory that is aligned to 256 bytes, with undefined contents. It is never null.
  virtual void* allocate(size_t bytes) = 0;
  /// Allocates a slab: kSlabBytes bytes for pages of keys and values, aligned to kSlabBytes, with
  /// undefined contents. All slabs of a device lie in one address range, so that kernels can find a
  /// page by its number in the range.
  virtual void* allocate_slab() = 0;
  /// The slab is free once the work queued so far has ended. Does not wait for it.
  virtual void release_slab(void* slab) noexcept = 0;
  static constexpr size_t kSlabBytes = size_t{16} << 20;
  /// Frees the memory when the work queued so far has ended.
  virtual void release(void* memory) noexcept = 0;

  /// Copies host memory to the device. The source may change as soon as this returns.
  virtual void upload(const void* host, void* device, size_t bytes) = 0;
  /// Uploads several pieces. If the pieces are short, this takes about as long as one upload.
  virtual void upload_all(std::span<const DeviceBytes> pieces) {
    for (const DeviceBytes& piece : pieces) upload(piece.from, piece.to, piece.bytes);
  }
  /// Copies device memory to the host. Returns when the copy is complete.
  virtual void download(const void* device, void* host, size_t bytes) = 0;
  /// Copies within the device. The ranges must not overlap.
  virtual void copy(const void* from, void* to, size_t bytes) = 0;
  /// Copies several pieces within the device. No piece may overwrite a source of another piece.
  virtual void copy_all(std::span<const DeviceBytes> pieces) {
    for (const DeviceBytes& piece : pieces) copy(piece.from, piece.to, piece.bytes);
  }
  virtual void clear(void* memory, size_t bytes) = 0;  ///< sets all bytes to zero

  virtual void wait() = 0;
  /// Marks the end of the work that is queued so far. Returns the event's number; numbers ascend.
  /// A queue that runs work at once has no events: they are reached when they are recorded.
  virtual uint64_t record_event() { return 0; }
  /// Returns whether the work before the event has ended. Does not wait.
  virtual bool event_reached(uint64_t /*event*/) { return true; }
  /// Waits until the work before the event has ended, but not for later work.
  virtual void wait_for(uint64_t /*event*/) {}
  /// Returns the number of times that the host has waited for the device so far (downloads and
  /// calls of wait()).
  virtual int64_t waits() const = 0;
  /// Returns the seconds that the host has waited so far, also for memory that copies still read.
  virtual double waited_seconds() const { return 0; }

  /// Operations that every device must have.
  virtual DeviceOps& ops() = 0;
  /// Operations that this device implements.
  DeviceTable& operations() { return operations_; }

 private:
  DeviceTable operations_;
};

}  // namespace longhaul
