#pragma once
// The required functions of a device: holding memory and running work in order. All other
// operations (ops/core/device_ops.h) only add speed: an operation that a device lacks runs on the
// host, on copies of its arrays (base/host_stage.h).

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/place.h"

namespace longhaul {

class DeviceOps;

/// Bytes to copy to a device address, from the host or from the device itself.
struct DeviceBytes {
  const void* from = nullptr;
  void* to = nullptr;
  size_t bytes = 0;
};

/// Used by one thread at a time. Errors of the device itself (out of memory, a failed kernel, a
/// lost device) are UserError with the device's name.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;

  virtual Place place() const = 0;
  /// Binds the calling thread to this device.
  virtual void enter() {}
  virtual std::string name() const = 0;   ///< display name, "NVIDIA H100 80GB HBM3"
  virtual size_t free_bytes() const = 0;  ///< free device memory at present

  /// Aligned to 256 bytes; contents undefined. Never null.
  virtual void* allocate(size_t bytes) = 0;
  /// Allocates kSlabBytes for pages of keys and values, aligned to kSlabBytes; contents undefined.
  /// All slabs of a device lie in one address range, so that kernels can find pages by their number
  /// in it.
  virtual void* allocate_slab() = 0;
  virtual void release_slab(void* slab) noexcept = 0;
  static constexpr size_t kSlabBytes = size_t{16} << 20;
  /// Frees the memory after the work queued so far.
  virtual void release(void* memory) noexcept = 0;

  /// The source may change as soon as this returns.
  virtual void upload(const void* host, void* device, size_t bytes) = 0;
  /// Uploads several pieces, which costs about as much as one upload if they are short.
  virtual void upload_all(std::span<const DeviceBytes> pieces) {
    for (const DeviceBytes& piece : pieces) upload(piece.from, piece.to, piece.bytes);
  }
  /// Waits until the copy is complete.
  virtual void download(const void* device, void* host, size_t bytes) = 0;
  /// The ranges do not overlap.
  virtual void copy(const void* from, void* to, size_t bytes) = 0;
  /// Copies several pieces, as upload_all() does. No piece may be written that another one reads.
  virtual void copy_all(std::span<const DeviceBytes> pieces) {
    for (const DeviceBytes& piece : pieces) copy(piece.from, piece.to, piece.bytes);
  }
  virtual void clear(void* memory, size_t bytes) = 0;  ///< sets to zeros

  virtual void wait() = 0;
  /// Number of times that the host has waited for the device so far: downloads and wait().
  virtual int64_t waits() const = 0;

  /// The operations that it implements.
  virtual DeviceOps& ops() = 0;
};

}  // namespace longhaul
