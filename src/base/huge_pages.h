#pragma once
// Allocates memory in huge pages. Memory that is read from end to end for every token (such as keys
// and values) is read faster from huge pages, because hardware prefetching stops at the end of a
// page of the operating system.

#include <cstddef>
#include <memory>

namespace longhaul {

inline constexpr size_t kHugePageBytes = size_t{2} << 20;

/// Returns zeroed memory of `bytes` bytes. The size is rounded up to whole huge pages, and the
/// memory is aligned to a huge page. The first access to a page allocates the whole page, so memory
/// that may stay almost empty should be requested with `huge` false; it then has pages of the usual
/// size. Throws std::bad_alloc. Release the memory with unmap_pages() and the same `bytes`.
std::byte* map_pages(size_t bytes, bool huge);
void unmap_pages(std::byte* pages, size_t bytes);

/// Allocator for a std::vector that may become large. Allocations of at least one huge page use
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
