#pragma once
// PinnedPages allocates pages of keys and values in pinned blocks of host memory.

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "kv/host_blocks.h"
#include "kv/page_memory.h"

namespace longhaul {

/// Pages that are acquired one after another are adjacent where possible, so that a device can copy
/// many of them by one transfer. A block is given back when all its pages are free.
class PinnedPages : public PageMemory {
 public:
  PinnedPages(std::shared_ptr<HostBlocks> blocks, size_t page_bytes);
  ~PinnedPages() override;  ///< requires that all pages have been released
  PinnedPages(const PinnedPages&) = delete;
  PinnedPages& operator=(const PinnedPages&) = delete;

  Place place() const override { return {}; }
  size_t page_bytes() const override { return page_bytes_; }
  /// Throws std::bad_alloc if the limit of the blocks is reached.
  std::byte* acquire() override;
  void acquire_all(int64_t count, std::vector<std::byte*>& pages) override;
  void share(std::byte* page) override { share_all({&page, 1}); }
  void share_all(std::span<std::byte* const> pages) override;
  void release(std::byte* page) override { release_all({&page, 1}); }
  void release_all(std::span<std::byte* const> pages) override;
  bool shared(const std::byte* page) const override;
  size_t pages_in_use() const override;

 private:
  struct Block {
    std::byte* memory = nullptr;
    std::vector<uint32_t> owners;  ///< owner count of each page
    size_t used = 0;               ///< number of pages in use
    size_t next = 0;               ///< all pages before this index are in use, or were passed over
  };
  /// Returns the block of a page. `last` is the block of another page, or null.
  Block* block_of(const std::byte* page, Block* last) const;
  uint32_t& owners_in(Block& block, const std::byte* page) const;
  Block* next_block();
  std::byte* acquire_one();

  const std::shared_ptr<HostBlocks> blocks_;
  const size_t page_bytes_, stride_, per_block_;
  mutable std::mutex mutex_;
  /// The key is the address of a block in units of its size.
  mutable std::unordered_map<uintptr_t, Block> all_;
  Block* current_ = nullptr;  ///< block of the page that was acquired last; null: none
  size_t in_use_ = 0;
};

}  // namespace longhaul
