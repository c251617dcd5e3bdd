#include "base/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace longhaul {

namespace {

size_t whole_pages(size_t bytes) {
  return (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
}

}  // namespace

std::byte* map_pages(size_t bytes, bool huge) {
  bytes = whole_pages(bytes);
  // Maps one page more than requested and trims the ends to the alignment.
  const size_t mapped = bytes + kHugePageBytes;
  void* address = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) throw std::bad_alloc();
  std::byte* begin = static_cast<std::byte*>(address);
  const size_t before =
      (kHugePageBytes - reinterpret_cast<uintptr_t>(begin) % kHugePageBytes) % kHugePageBytes;
  std::byte* pages = begin + before;
  if (before > 0) ::munmap(begin, before);
  if (before < kHugePageBytes) ::munmap(pages + bytes, kHugePageBytes - before);
  ::madvise(pages, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return pages;
}

void unmap_pages(std::byte* pages, size_t bytes) { ::munmap(pages, whole_pages(bytes)); }

}  // namespace longhaul
