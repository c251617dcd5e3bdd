#pragma once
// Memory that every token reads from end to end. Hardware prefetching stops at the end of an
// operating-system page, so such memory should use huge pages.

#include <cstddef>
#include <memory>

namespace longhaul {

inline constexpr size_t kHugePageBytes = size_t{2} << 20;

/// Zeroed memory of `bytes`, rounded up and aligned to whole huge pages. With `huge` false it has
/// pages of the usual size, for memory that may stay almost empty, since touching a byte allocates
/// a whole page. Throws std::bad_alloc. Release it with unmap_pages() and the same `bytes`.
std::byte* map_pages(size_t bytes, bool huge);
void unmap_pages(std::byte* pages, size_t bytes);

/// For a std::vector that may become large: uses huge pages from the size of one on.
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
