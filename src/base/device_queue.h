#pragma once
// What a device must do for the rest of the program: hold memory and work in order. Everything else
// that it does (ops/core/device_ops.h) is for speed: an operation that a device does not have runs
// on the host, on copies of its arrays (base/host_stage.h).

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/place.h"

namespace longhaul {

class DeviceOps;

/// Bytes for an address of a device, from the host or from the device itself.
struct DeviceBytes {
  const void* from = nullptr;
  void* to = nullptr;
  size_t bytes = 0;
};

/// Used by one thread at a time. Errors of the device itself (out of memory, a kernel that failed,
/// a lost device) are UserError and name the device.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;

  virtual Place place() const = 0;
  /// The calling thread works for this device from now on, and for no other.
  virtual void enter() {}
  virtual std::string name() const = 0;   ///< for people, "NVIDIA H100 80GB HBM3"
  virtual size_t free_bytes() const = 0;  ///< of its memory, now

  /// Aligned to 256 bytes; contents undefined. Never null.
  virtual void* allocate(size_t bytes) = 0;
  /// kSlabBytes for pages of keys and values, aligned to kSlabBytes; contents undefined. All slabs
  /// of a device lie in one range of addresses, so that kernels can find pages by their number in
  /// it.
  virtual void* allocate_slab() = 0;
  virtual void release_slab(void* slab) noexcept = 0;
  static constexpr size_t kSlabBytes = size_t{16} << 20;
  /// Frees the memory once the work handed over so far is done.
  virtual void release(void* memory) noexcept = 0;

  /// The source may change as soon as this returns.
  virtual void upload(const void* host, void* device, size_t bytes) = 0;
  /// The same of several pieces, which cost about as much as one where they are short.
  virtual void upload_all(std::span<const DeviceBytes> pieces) {
    for (const DeviceBytes& piece : pieces) upload(piece.from, piece.to, piece.bytes);
  }
  /// Waits until the copy is there.
  virtual void download(const void* device, void* host, size_t bytes) = 0;
  /// The ranges do not overlap.
  virtual void copy(const void* from, void* to, size_t bytes) = 0;
  /// The same of several pieces, as upload_all(): no piece is written that another reads.
  virtual void copy_all(std::span<const DeviceBytes> pieces) {
    for (const DeviceBytes& piece : pieces) copy(piece.from, piece.to, piece.bytes);
  }
  virtual void clear(void* memory, size_t bytes) = 0;  ///< to zeros

  virtual void wait() = 0;
  /// How often the host has waited for the device so far: downloads and wait().
  virtual int64_t waits() const = 0;

  /// The operations that it has itself.
  virtual DeviceOps& ops() = 0;
};

}  // namespace longhaul
