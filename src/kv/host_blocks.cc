#include "kv/host_blocks.h"

#include <exception>
#include <utility>

#include "base/assert.h"

namespace longhaul {

HostBlocks::HostBlocks(std::shared_ptr<SideCopies> copies, size_t most_bytes)
    : copies_(std::move(copies)), most_(most_bytes) {}

HostBlocks::~HostBlocks() {
  LH_ASSERT(used_ == 0);
  for (std::byte* block : ready_) copies_->release_block(block);
}

std::byte* HostBlocks::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!fits(used_ + 1)) return nullptr;
    ready_.reserve(used_ + 1 + ready_.size());  // give_back() does not throw
    ++used_;
    if (!ready_.empty()) {
      std::byte* const block = ready_.back();
      ready_.pop_back();
      return block;
    }
  }
  try {  // other threads need not wait for the allocation
    return copies_->allocate_block();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    --used_;
    throw;
  }
}

void HostBlocks::give_back(std::byte* block) noexcept {
  const std::lock_guard lock(mutex_);
  --used_;
  ready_.push_back(block);
}

bool HostBlocks::prepare() {
  std::byte* block = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const size_t made = used_ + ready_.size();
    if (!fits(made) && !ready_.empty()) {  // other memory has grown
      block = ready_.back();
      ready_.pop_back();
    } else if (full_ || made * kBlockBytes >= expected_ || !fits(made + 1)) {
      return false;
    }
  }
  if (block != nullptr) {  // other threads need not wait for the release
    copies_->release_block(block);
    return true;
  }
  try {
    block = copies_->allocate_block();
    const std::lock_guard lock(mutex_);
    ready_.reserve(used_ + ready_.size() + 1);
    ready_.push_back(block);
    return true;
  } catch (const std::exception&) {
    if (block != nullptr) copies_->release_block(block);
    full_ = true;  // take() tries again when a block is needed
    return false;
  }
}

size_t HostBlocks::bytes_in_use() const {
  const std::lock_guard lock(mutex_);
  return used_ * kBlockBytes + other_;
}

size_t HostBlocks::room() const {
  const size_t used = bytes_in_use();
  return used < most_ ? most_ - used : 0;
}

}  // namespace longhaul
