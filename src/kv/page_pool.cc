#include "kv/page_pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/huge_pages.h"

namespace longhaul {
namespace {

// So that slab_of() only masks the page's address.
constexpr size_t kPoolSlabBytes = kHugePageBytes;
constexpr size_t kWarmBytes = size_t{2} << 20;

size_t round_up(size_t x, size_t unit) { return (x + unit - 1) / unit * unit; }

size_t os_page_bytes() {
  static const size_t bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

/// The header at the start of each slab. The owner count of each page and the stack of free pages
/// follow it. Pages in warm_ are not on this stack, because the slab counts them as used.
struct PagePool::Slab {
  uint32_t free_count;
  uint32_t open_at;  ///< index in open_
  uint32_t pages;
  bool huge;

  uint32_t* owners() { return reinterpret_cast<uint32_t*>(this + 1); }
  const uint32_t* owners() const { return reinterpret_cast<const uint32_t*>(this + 1); }
  uint32_t* free_pages() { return owners() + pages; }
};

PagePool::PagePool(size_t page_bytes) : page_bytes_(page_bytes), stride_(round_up(page_bytes, 64)) {
  LH_ASSERT(page_bytes > 0 && page_bytes <= size_t{1} << 20);
  // If a page consists of whole OS pages, it is aligned to them, so that its memory can be returned
  // separately.
  const size_t align = stride_ % os_page_bytes() == 0 ? os_page_bytes() : 64;
  pages_per_slab_ = kPoolSlabBytes / stride_;
  for (;; --pages_per_slab_) {
    first_page_ = round_up(sizeof(Slab) + 2 * sizeof(uint32_t) * pages_per_slab_, align);
    if (first_page_ + pages_per_slab_ * stride_ <= kPoolSlabBytes) break;
  }
  warm_limit_ = std::max<size_t>(2, kWarmBytes / stride_);
  warm_.reserve(warm_limit_ + 1);  // so that release() does not throw
}

PagePool::~PagePool() {
  LH_ASSERT(in_use_ == 0);
  for (std::byte* page : warm_) cool(page);
}

size_t PagePool::most_bytes(size_t page_bytes, size_t bytes) {
  const PagePool pool(page_bytes);  // the pool has no memory yet
  const size_t pages = (bytes + page_bytes - 1) / page_bytes;
  if (pages <= pool.pages_per_slab_) return pool.first_page_ + pages * pool.stride_;
  return (pages + pool.pages_per_slab_ - 1) / pool.pages_per_slab_ * kPoolSlabBytes;
}

PagePool::Slab* PagePool::slab_of(const std::byte* page) {
  return reinterpret_cast<Slab*>(reinterpret_cast<uintptr_t>(page) &
                                 ~uintptr_t{kPoolSlabBytes - 1});
}

size_t PagePool::index_of(const Slab* slab, const std::byte* page) const {
  const std::byte* first = reinterpret_cast<const std::byte*>(slab) + first_page_;
  return static_cast<size_t>(page - first) / stride_;
}

std::byte* PagePool::page_of(Slab* slab, size_t index) const {
  return reinterpret_cast<std::byte*>(slab) + first_page_ + index * stride_;
}

PagePool::Slab* PagePool::add_slab() {
  open_.reserve(slabs_ + 1);      // any of them may be opened again in release(), which does not
                                  // throw
  const bool huge = in_use_ > 0;  // every slab but the first
  Slab* slab = new (map_pages(kPoolSlabBytes, huge)) Slab;
  slab->huge = huge;
  slab->pages = slab->free_count = static_cast<uint32_t>(pages_per_slab_);
  for (uint32_t i = 0; i < slab->pages; ++i) slab->free_pages()[i] = slab->pages - 1 - i;
  slab->open_at = static_cast<uint32_t>(open_.size());
  open_.push_back(slab);
  ++slabs_;
  return slab;
}

void PagePool::close(Slab* slab) {
  open_[slab->open_at] = open_.back();
  open_[slab->open_at]->open_at = slab->open_at;
  open_.pop_back();
}

std::byte* PagePool::acquire() {
  const std::lock_guard lock(mutex_);
  std::byte* page;
  if (!warm_.empty()) {
    page = warm_.back();
    warm_.pop_back();
  } else {
    Slab* slab = open_.empty() ? add_slab() : open_.front();
    page = page_of(slab, slab->free_pages()[--slab->free_count]);
    if (slab->free_count == 0) close(slab);
  }
  Slab* slab = slab_of(page);
  slab->owners()[index_of(slab, page)] = 1;
  ++in_use_;
  return page;
}

void PagePool::share(std::byte* page) {
  const std::lock_guard lock(mutex_);
  Slab* slab = slab_of(page);
  uint32_t& owners = slab->owners()[index_of(slab, page)];
  LH_ASSERT(owners > 0);
  ++owners;
}

bool PagePool::shared(const std::byte* page) const {
  const std::lock_guard lock(mutex_);
  const Slab* slab = slab_of(page);
  return slab->owners()[index_of(slab, page)] > 1;
}

size_t PagePool::pages_in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

void PagePool::release(std::byte* page) {
  const std::lock_guard lock(mutex_);
  Slab* slab = slab_of(page);
  uint32_t& owners = slab->owners()[index_of(slab, page)];
  LH_ASSERT(owners > 0);
  if (--owners > 0) return;
  --in_use_;
  warm_.push_back(page);
  if (warm_.size() <= warm_limit_) return;
  const auto half = warm_.begin() + static_cast<std::ptrdiff_t>(warm_.size() / 2);
  std::for_each(warm_.begin(), half, [&](std::byte* old) { cool(old); });
  warm_.erase(warm_.begin(), half);
}

void PagePool::cool(std::byte* page) {
  Slab* slab = slab_of(page);
  const size_t index = index_of(slab, page);
  slab->free_pages()[slab->free_count++] = static_cast<uint32_t>(index);
  if (slab->free_count == 1) {
    slab->open_at = static_cast<uint32_t>(open_.size());
    open_.push_back(slab);
  }
  if (slab->free_count == slab->pages) {
    close(slab);
    unmap_pages(reinterpret_cast<std::byte*>(slab), kPoolSlabBytes);
    --slabs_;
  } else {
    return_memory(slab, index);
  }
}

/// Returns the memory of a free page to the operating system. An OS page that also contains other
/// pages is returned only if these are free too.
void PagePool::return_memory(Slab* slab, size_t index) const {
  const size_t unit = os_page_bytes();
  const size_t offset = first_page_ + index * stride_;
  size_t begin = offset / unit * unit;
  size_t end = round_up(offset + stride_, unit);
  std::byte* base = reinterpret_cast<std::byte*>(slab);
  if (!all_free(slab, base + begin)) begin += unit;
  if (begin < end && !all_free(slab, base + end - unit)) end -= unit;
  if (begin >= end) return;
  // Otherwise the kernel would fill the gap with a huge page again.
  if (std::exchange(slab->huge, false)) ::madvise(slab, kPoolSlabBytes, MADV_NOHUGEPAGE);
  ::madvise(base + begin, end - begin, MADV_DONTNEED);
}

/// Returns whether the OS page at `begin` contains only free pages, and no part of the slab's
/// header.
bool PagePool::all_free(Slab* slab, const std::byte* begin) const {
  const size_t offset = static_cast<size_t>(begin - reinterpret_cast<const std::byte*>(slab));
  if (offset < first_page_) return false;
  const size_t first = (offset - first_page_) / stride_;
  const size_t last = (offset - first_page_ + os_page_bytes() - 1) / stride_;
  for (size_t i = first; i <= last && i < slab->pages; ++i) {
    if (slab->owners()[i] > 0) return false;
  }
  return true;
}

}  // namespace longhaul
