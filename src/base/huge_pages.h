#pragma once
// Allocates memory in huge pages. Memory that is read completely for every token, such as keys and
// values, is read faster from huge pages. The reason is that hardware prefetching stops at the end
// of each page of the operating system.

#include <cstddef>
#include <memory>

namespace longhaul {

inline constexpr size_t kHugePageBytes = size_t{2} << 20;

/// Returns zeroed memory of `bytes` bytes, rounded up to whole huge pages and aligned to a huge
/// page. The first access to a page allocates the whole page. If most of the memory may never be
/// used, pass huge = false; the memory then consists of small pages. Throws std::bad_alloc. Release
/// the memory by unmap_pages() with the same `bytes`.
std::byte* map_pages(size_t bytes, bool huge);
void unmap_pages(std::byte* pages, size_t bytes);

/// An allocator for a std::vector that may become large. Allocations of at least kHugePageBytes use
/// huge pages.
template <class T>
struct HugePageAllocator {
  using value_type = T;

  HugePageAllocator() = default;
  template <class U>
  HugePageAllocator(const HugePageAllocator<U>&) {}

  T* allocate(size_t count) {
    const size_t bytes = count * sizeof(T);
    if (bytes < kHugePageBytes) return std::allocator<T>().allocate(count);
    return reinterpret_cast<T*>(map_pages(bytes, true));
  }
  void deallocate(T* data, size_t count) {
    const size_t bytes = count * sizeof(T);
    if (bytes < kHugePageBytes) return std::allocator<T>().deallocate(data, count);
    unmap_pages(reinterpret_cast<std::byte*>(data), bytes);
  }
  bool operator==(const HugePageAllocator&) const { return true; }
};

}  // namespace longhaul
