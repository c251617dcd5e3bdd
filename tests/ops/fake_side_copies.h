#pragma once
// Side copies of the fake device. They are made when they begin, or when a test lets them.

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "base/assert.h"
#include "base/error.h"
#include "base/side_copies.h"
#include "ops/fake_device.h"

namespace longhaul::testing_support {

/// The state of the side copies of a device, which a test reads and controls.
struct CopyControl {
  std::mutex mutex;
  std::condition_variable changed;
  bool held = false;                    ///< whether copies wait until the test sets this to false
  bool fails = false;                   ///< whether copies throw
  size_t most_blocks = SIZE_MAX;        ///< blocks that can be allocated
  size_t blocks = 0;                    ///< blocks that exist now
  size_t batches = 0, followed = 0;     ///< batches that have begun, and calls of follow_queue()
  size_t downloaded = 0, uploaded = 0;  ///< bytes
  void hold(bool holds) {
    {
      const std::lock_guard lock(mutex);
      held = holds;
    }
    changed.notify_all();
  }
};

class FakeSideCopies : public SideCopies {
 public:
  explicit FakeSideCopies(std::shared_ptr<CopyControl> control) : control_(std::move(control)) {}

  std::byte* allocate_block() override {
    const std::lock_guard lock(control_->mutex);
    if (control_->blocks >= control_->most_blocks) throw std::bad_alloc();
    ++control_->blocks;
    auto* const block = static_cast<std::byte*>(std::aligned_alloc(kBlockBytes, kBlockBytes));
    if (block == nullptr) throw std::bad_alloc();
    return block;
  }
  void release_block(std::byte* block) noexcept override {
    const std::lock_guard lock(control_->mutex);
    --control_->blocks;
    std::free(block);
  }
  void follow_queue() override { ++control_->followed; }
  uint64_t download(std::span<const DeviceBytes> pieces) override {
    return copy(pieces, control_->downloaded);
  }
  uint64_t upload(std::span<const DeviceBytes> pieces) override {
    return copy(pieces, control_->uploaded);
  }
  void wait_for(uint64_t event) override { LH_ASSERT(event <= events_); }

 private:
  uint64_t copy(std::span<const DeviceBytes> pieces, size_t& bytes) {
    std::unique_lock lock(control_->mutex);
    ++control_->batches;
    control_->changed.wait(lock, [&] { return !control_->held; });
    if (control_->fails) user_error("a copy failed");
    size_t sum = 0;
    for (const DeviceBytes& piece : pieces) {
      std::memcpy(piece.to, piece.from, piece.bytes);
      sum += piece.bytes;
    }
    LH_ASSERT(sum > 0 && sum <= kBlockBytes);
    bytes += sum;
    return ++events_;
  }

  std::shared_ptr<CopyControl> control_;
  uint64_t events_ = 0;
};

/// Gives a fake device side copies. Returns their control.
inline std::shared_ptr<CopyControl> add_side_copies(FakeDevice& device) {
  auto control = std::make_shared<CopyControl>();
  device.operations().set(kSideCopies, [control]() -> std::unique_ptr<SideCopies> {
    return std::make_unique<FakeSideCopies>(control);
  });
  return control;
}

}  // namespace longhaul::testing_support
