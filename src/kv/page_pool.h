#pragma once
// Pages of key and value rows, taken from the operating system slab by slab and given back page by
// page. Pages are counted: sessions that share a prefix share its pages until one writes.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace longhaul {

class PagePool {
 public:
  /// `page_bytes` in (0, 1 MiB].
  explicit PagePool(size_t page_bytes);
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  /// A page that one owner holds; contents undefined. Throws std::bad_alloc.
  std::byte* acquire();
  void share(std::byte* page);    ///< one more owner
  void release(std::byte* page);  ///< one owner less; the last gives the memory back
  bool shared(const std::byte* page) const;

  size_t page_bytes() const { return page_bytes_; }
  size_t pages_in_use() const { return in_use_; }
  size_t bytes_in_use() const { return in_use_ * page_bytes_; }

 private:
  struct Slab;
  static Slab* slab_of(const std::byte* page);
  size_t index_of(const Slab* slab, const std::byte* page) const;
  Slab* add_slab();

  size_t page_bytes_;
  size_t pages_per_slab_;
  size_t in_use_ = 0;
  std::vector<Slab*> slabs_;
  std::vector<std::byte*> free_;
};

}  // namespace longhaul
