#pragma once
// PagePool allocates pages in host memory. It allocates memory from the operating system in slabs
// of many pages, and returns the memory of free pages one by one.

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "kv/page_memory.h"

namespace longhaul {

class PagePool final : public PageMemory {
 public:
  /// `page_bytes` must be from 1 byte to 1 MiB.
  explicit PagePool(size_t page_bytes);
  /// All pages must have been released.
  ~PagePool() override;
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  Place place() const override { return {}; }
  size_t page_bytes() const override { return page_bytes_; }

  std::byte* acquire() override;
  void share(std::byte* page) override;
  /// Removes an owner. A page without owners is free, and its memory is returned to the operating
  /// system. Only the most recently freed pages (2 MiB in total) keep their memory, and acquire()
  /// reuses them first.
  void release(std::byte* page) override;
  bool shared(const std::byte* page) const override;

  /// Returns the peak memory in bytes of a pool whose pages in use never exceed `bytes`. The result
  /// is rounded up to whole slabs, because the operating system may back a slab with one huge page.
  static size_t most_bytes(size_t page_bytes, size_t bytes);

  size_t pages_in_use() const override;
  size_t bytes_in_use() const { return pages_in_use() * page_bytes_; }

 private:
  struct Slab;
  static Slab* slab_of(const std::byte* page);
  size_t index_of(const Slab* slab, const std::byte* page) const;
  std::byte* page_of(Slab* slab, size_t index) const;
  Slab* add_slab();
  void cool(std::byte* page);
  void return_memory(Slab* slab, size_t index) const;
  bool all_free(Slab* slab, const std::byte* begin) const;
  void close(Slab* slab);

  const size_t page_bytes_;
  const size_t stride_;  ///< distance between pages: page_bytes, rounded up to the alignment
  size_t pages_per_slab_ = 0;
  size_t first_page_ = 0;  ///< offset of page 0 in a slab, after the slab's header
  /// Largest allowed number of pages in warm_.
  size_t warm_limit_ = 0;

  mutable std::mutex mutex_;
  size_t in_use_ = 0;
  size_t slabs_ = 0;         ///< number of mapped slabs
  std::vector<Slab*> open_;  ///< slabs with a free page
  /// Free pages whose memory has not been returned to the operating system, oldest first.
  std::vector<std::byte*> warm_;
};

}  // namespace longhaul
