#pragma once
// DeviceQueue is the interface of a device. A device must implement the functions of DeviceQueue,
// which manage device memory and the order of work. It must also implement the operations in
// ops/core/device_ops.h. It may implement further operations (base/device_table.h), which only make
// it faster.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/device_table.h"
#include "base/place.h"

namespace longhaul {

class DeviceOps;

/// A piece of memory to copy to a device address. The source is on the host or on the device.
struct DeviceBytes {
  const void* from = nullptr;
  void* to = nullptr;
  size_t bytes = 0;
};

/// The queue of a device. Only one thread may use it at a time. Errors of the device are thrown as
/// UserError with the name of the device. Examples are missing memory, a failed kernel and a lost
/// device.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;

  virtual Place place() const = 0;
  /// Binds the calling thread to this device.
  virtual void enter() {}
  /// Returns a name for users, such as "NVIDIA H100 80GB HBM3".
  virtual std::string name() const = 0;
  virtual size_t free_bytes() const = 0;  ///< returns the free device memory

  /// Returns memory that is aligned to 256 bytes, with undefined contents. It is never null.
  virtual void* allocate(size_t bytes) = 0;
  /// Allocates a slab for pages of keys and values. It has kSlabBytes bytes, is aligned to
  /// kSlabBytes, and has undefined contents. All slabs of a device are in one address range, so
  /// kernels can compute the address of a page from its number in the range.
  virtual void* allocate_slab() = 0;
  /// Frees a slab as soon as the work queued so far has ended. Does not wait.
  virtual void release_slab(void* slab) noexcept = 0;
  static constexpr size_t kSlabBytes = size_t{16} << 20;
  /// Frees memory as soon as the work queued so far has ended. Does not wait.
  virtual void release(void* memory) noexcept = 0;

  /// Copies host memory to the device. The caller may change the source as soon as this returns.
  virtual void upload(const void* host, void* device, size_t bytes) = 0;
  /// Copies several pieces of host memory to the device. A device may implement this function such
  /// that copying many short pieces takes about as long as copying one piece.
  virtual void upload_all(std::span<const DeviceBytes> pieces) {
    for (const DeviceBytes& piece : pieces) upload(piece.from, piece.to, piece.bytes);
  }
  /// Copies device memory to the host, and waits until the copy is complete.
  virtual void download(const void* device, void* host, size_t bytes) = 0;
  /// Copies within the device. The ranges must not overlap.
  virtual void copy(const void* from, void* to, size_t bytes) = 0;
  /// Copies several pieces within the device. No piece may overwrite a source of another piece.
  virtual void copy_all(std::span<const DeviceBytes> pieces) {
    for (const DeviceBytes& piece : pieces) copy(piece.from, piece.to, piece.bytes);
  }
  virtual void clear(void* memory, size_t bytes) = 0;  ///< sets all bytes to zero

  /// Waits until all queued work has ended.
  virtual void wait() = 0;
  /// Records an event, which is reached when the work that is queued so far has ended. Returns the
  /// number of the event. Later events have higher numbers. A queue that executes work immediately
  /// needs no events.
  virtual uint64_t record_event() { return 0; }
  /// Returns whether the work before the event has ended. Does not wait.
  virtual bool event_reached(uint64_t /*event*/) { return true; }
  /// Waits until the work before the event has ended, but not for later work.
  virtual void wait_for(uint64_t /*event*/) {}
  /// Returns how often the host has waited for the device so far, in downloads and calls of wait().
  virtual int64_t waits() const = 0;
  /// Returns the seconds that the host has waited so far. This includes waiting for pinned memory
  /// that unfinished copies still use.
  virtual double waited_seconds() const { return 0; }

  /// Returns the operations that every device must implement (ops/core/device_ops.h).
  virtual DeviceOps& ops() = 0;
  /// Returns the optional operations that this device implements.
  DeviceTable& operations() { return operations_; }

 private:
  DeviceTable operations_;
};

}  // namespace longhaul
