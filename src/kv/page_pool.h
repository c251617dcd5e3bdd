#pragma once
// Pages of key and value rows, taken from the operating system slab by slab and given back page by
// page. Pages are counted: sessions that share a prefix share its pages until one writes.

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace longhaul {

/// May be used from several threads.
class PagePool {
 public:
  /// `page_bytes` in (0, 1 MiB].
  explicit PagePool(size_t page_bytes);
  /// All pages must have been released.
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  /// A page that one owner holds, 64-byte aligned; contents undefined. Throws std::bad_alloc.
  std::byte* acquire();
  void share(std::byte* page);  ///< one more owner
  /// One owner less. After the last one the memory goes back to the operating system, but for the
  /// few pages (2 MiB) freed most recently, which the next acquire() takes.
  void release(std::byte* page);
  bool shared(const std::byte* page) const;

  size_t page_bytes() const { return page_bytes_; }
  size_t pages_in_use() const;
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
  const size_t stride_;  ///< page_bytes, rounded up to keep the alignment
  size_t pages_per_slab_ = 0;
  size_t first_page_ = 0;  ///< offset of page 0 in a slab, behind the counts
  size_t warm_limit_ = 0;

  mutable std::mutex mutex_;
  size_t in_use_ = 0;
  size_t slabs_ = 0;              ///< that are mapped
  std::vector<Slab*> open_;       ///< slabs with a free page
  std::vector<std::byte*> warm_;  ///< free pages that still hold memory, oldest first
};

}  // namespace longhaul
