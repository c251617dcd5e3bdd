#include "kv/pinned_pages.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/assert.h"

namespace longhaul {
namespace {

constexpr size_t kPinnedAlignment = 64;

}  // namespace

PinnedPages::PinnedPages(std::shared_ptr<HostBlocks> blocks, size_t page_bytes)
    : blocks_(std::move(blocks)),
      page_bytes_(page_bytes),
      stride_((page_bytes + kPinnedAlignment - 1) / kPinnedAlignment * kPinnedAlignment),
      per_block_(HostBlocks::kBlockBytes / stride_) {
  LH_ASSERT(page_bytes > 0 && per_block_ > 0);
}

PinnedPages::~PinnedPages() { LH_ASSERT(in_use_ == 0 && all_.empty()); }

PinnedPages::Block* PinnedPages::block_of(const std::byte* page, Block* last) const {
  const auto number = reinterpret_cast<uintptr_t>(page) / HostBlocks::kBlockBytes;
  if (last != nullptr &&
      reinterpret_cast<uintptr_t>(last->memory) / HostBlocks::kBlockBytes == number) {
    return last;
  }
  const auto found = all_.find(number);
  LH_ASSERT(found != all_.end());
  return &found->second;
}

uint32_t& PinnedPages::owners_in(Block& block, const std::byte* page) const {
  const auto index = static_cast<size_t>(page - block.memory) / stride_;
  LH_ASSERT(index < per_block_);
  return block.owners[index];
}

/// Selects the block for the next pages: one that is at least half free, or else a new one, or else
/// the one with most free pages.
PinnedPages::Block* PinnedPages::next_block() {
  Block* freest = nullptr;
  for (auto& [number, block] : all_) {
    if (freest == nullptr || block.used < freest->used) freest = &block;
  }
  if (freest == nullptr || 2 * freest->used > per_block_) {
    if (std::byte* const made = blocks_->take()) {
      const auto number = reinterpret_cast<uintptr_t>(made) / HostBlocks::kBlockBytes;
      LH_ASSERT(reinterpret_cast<uintptr_t>(made) % HostBlocks::kBlockBytes == 0);
      freest = &all_.emplace(number, Block{made, std::vector<uint32_t>(per_block_)}).first->second;
    }
  }
  if (freest == nullptr || freest->used == per_block_) throw std::bad_alloc();
  freest->next = 0;
  return freest;
}

std::byte* PinnedPages::acquire_one() {
  const auto advance = [&] {
    while (current_->next < per_block_ && current_->owners[current_->next] > 0) ++current_->next;
    return current_->next < per_block_;
  };
  while (current_ == nullptr || !advance()) current_ = next_block();
  current_->owners[current_->next] = 1;
  ++current_->used;
  ++in_use_;
  return current_->memory + current_->next++ * stride_;
}

std::byte* PinnedPages::acquire() {
  const std::lock_guard lock(mutex_);
  return acquire_one();
}

void PinnedPages::acquire_all(int64_t count, std::vector<std::byte*>& pages) {
  const std::lock_guard lock(mutex_);
  for (; count > 0; --count) pages.push_back(acquire_one());
}

void PinnedPages::share_all(std::span<std::byte* const> pages) {
  const std::lock_guard lock(mutex_);
  Block* block = nullptr;
  for (std::byte* page : pages) {
    if (page == nullptr) continue;
    block = block_of(page, block);
    ++owners_in(*block, page);
  }
}

void PinnedPages::release_all(std::span<std::byte* const> pages) {
  const std::lock_guard lock(mutex_);
  Block* block = nullptr;
  for (std::byte* page : pages) {
    if (page == nullptr) continue;
    block = block_of(page, block);
    uint32_t& owners = owners_in(*block, page);
    LH_ASSERT(owners > 0);
    if (--owners > 0) continue;
    --in_use_;
    if (--block->used > 0) continue;
    std::byte* const memory = block->memory;
    if (current_ == block) current_ = nullptr;
    all_.erase(reinterpret_cast<uintptr_t>(memory) / HostBlocks::kBlockBytes);
    block = nullptr;
    blocks_->give_back(memory);
  }
}

bool PinnedPages::shared(const std::byte* page) const {
  const std::lock_guard lock(mutex_);
  return owners_in(*block_of(page, nullptr), page) > 1;
}

size_t PinnedPages::pages_in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

}  // namespace longhaul
