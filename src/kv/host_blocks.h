#pragma once
// HostBlocks holds the pinned blocks of host memory to which sequences are moved from a device.
// Blocks are slow to allocate. They are therefore allocated before they are needed, and reused.

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "base/side_copies.h"

namespace longhaul {

/// All functions may be called on any thread.
class HostBlocks {
 public:
  static constexpr size_t kBlockBytes = SideCopies::kBlockBytes;

  /// At most `most_bytes` bytes are held by blocks and other_bytes() together.
  HostBlocks(std::shared_ptr<SideCopies> copies, size_t most_bytes);
  ~HostBlocks();  ///< requires that all blocks have been given back
  HostBlocks(const HostBlocks&) = delete;
  HostBlocks& operator=(const HostBlocks&) = delete;

  /// Returns a block, or null if the limit is reached. Throws std::bad_alloc.
  std::byte* take();
  void give_back(std::byte* block) noexcept;

  /// Requests that blocks of `bytes` bytes are allocated in advance, those in use included.
  void expect(size_t bytes) { expected_ = bytes; }
  /// Allocates one more block if fewer are allocated than expect() requested and the limit allows
  /// it, or frees an unused one if the limit is exceeded. Returns whether it did so. Does not
  /// throw: memory may be full.
  bool prepare();

  /// Counts host memory outside of the blocks that belongs to moved sequences.
  void add_other(size_t bytes) { other_ += bytes; }
  void remove_other(size_t bytes) { other_ -= bytes; }
  size_t other_bytes() const { return other_; }
  /// Returns the bytes of blocks in use and of other memory.
  size_t bytes_in_use() const;
  /// Returns the bytes that can still be used.
  size_t room() const;
  size_t most_bytes() const { return most_; }

 private:
  bool fits(size_t blocks) const { return blocks * kBlockBytes + other_ <= most_; }

  std::shared_ptr<SideCopies> copies_;
  const size_t most_;
  std::atomic<size_t> expected_ = 0, other_ = 0;
  std::atomic<bool> full_ = false;  ///< whether an allocation in advance has failed
  mutable std::mutex mutex_;
  std::vector<std::byte*> ready_;  ///< allocated blocks that are not in use
  size_t used_ = 0;                ///< number of blocks in use
};

}  // namespace longhaul
