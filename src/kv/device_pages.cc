#include "kv/device_pages.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.h"

namespace longhaul {
namespace {

constexpr size_t kSlabBytes = DeviceQueue::kSlabBytes;

uintptr_t number_of(const void* address) {
  return reinterpret_cast<uintptr_t>(address) / kSlabBytes;
}

}  // namespace

DevicePages::DevicePages(Queue queue, size_t page_bytes, bool numbered)
    : queue_(std::move(queue)),
      page_bytes_(page_bytes),
      stride_(numbered ? std::max<size_t>(256, std::bit_ceil(page_bytes))
                       : (page_bytes + 255) / 256 * 256),
      per_slab_(kSlabBytes / stride_) {
  LH_ASSERT(!queue_.on_host() && page_bytes > 0 && stride_ <= kSlabBytes);
}

DevicePages::~DevicePages() {
  for (const auto& [number, slab] : slabs_) {
    LH_ASSERT(slab.used == 0);
    queue_.device().release_slab(reinterpret_cast<void*>(number * kSlabBytes));
  }
}

void DevicePages::add_slab() {
  auto* const first = static_cast<std::byte*>(queue_.device().allocate_slab());
  LH_ASSERT(reinterpret_cast<uintptr_t>(first) % kSlabBytes == 0);
  slabs_.emplace(number_of(first), Slab{0, std::vector<uint32_t>(per_slab_), false});
  queue_.device().clear(first, kSlabBytes);
  for (size_t i = per_slab_; i-- > 0;) free_.push_back(first + i * stride_);
}

DevicePages::Slab& DevicePages::slab_of(const std::byte* page) const {
  const auto found = slabs_.find(number_of(page));
  LH_ASSERT(found != slabs_.end());
  return found->second;
}

uint32_t& DevicePages::owners_in(Slab& slab, const std::byte* page) const {
  return slab.owners[reinterpret_cast<uintptr_t>(page) % kSlabBytes / stride_];
}

DevicePages::Slab& DevicePages::slab_of(const std::byte* page, LastSlab& last) const {
  const uintptr_t number = number_of(page);
  if (last.slab == nullptr || last.number != number) last = {number, &slab_of(page)};
  return *last.slab;
}

std::byte* DevicePages::acquire_one() {
  if (free_.empty()) add_slab();
  std::byte* const page = free_.back();
  free_.pop_back();
  Slab& slab = slab_of(page);
  owners_in(slab, page) = 1;
  ++slab.used;
  ++used_;
  return page;
}

std::byte* DevicePages::acquire() {
  const std::lock_guard lock(mutex_);
  return acquire_one();
}

void DevicePages::acquire_all(int64_t count, std::vector<std::byte*>& pages) {
  const std::lock_guard lock(mutex_);
  for (; count > 0; --count) pages.push_back(acquire_one());
}

void DevicePages::share(std::byte* page) { share_all({&page, 1}); }

void DevicePages::share_all(std::span<std::byte* const> pages) {
  const std::lock_guard lock(mutex_);
  LastSlab last;
  for (std::byte* page : pages) {
    if (page != nullptr) ++owners_in(slab_of(page, last), page);
  }
}

void DevicePages::release(std::byte* page) { release_all({&page, 1}); }

void DevicePages::release_all(std::span<std::byte* const> pages) {
  const std::lock_guard lock(mutex_);
  LastSlab last;
  std::vector<uintptr_t> emptied;
  for (std::byte* page : pages) {
    if (page == nullptr) continue;
    Slab& slab = slab_of(page, last);
    uint32_t& owners = owners_in(slab, page);
    LH_ASSERT(owners > 0);
    if (--owners > 0) continue;
    --used_;
    free_.push_back(page);
    if (--slab.used == 0) emptied.push_back(number_of(page));
  }
  if (!emptied.empty()) release_slabs(emptied);
}

/// Releases slabs without pages in use, except for some free pages (128 MiB), so that lists that
/// grow and shrink need not allocate each time. One pass over the free pages serves all slabs: a
/// long sequence may have hundreds of them.
void DevicePages::release_slabs(std::span<const uintptr_t> emptied) {
  constexpr size_t kSpareSlabs = 8;
  const size_t most_free = (kSpareSlabs + 1) * per_slab_;
  if (free_.size() < most_free) return;
  const size_t superfluous = (free_.size() - most_free) / per_slab_ + 1;
  const auto leaving = emptied.first(std::min(emptied.size(), superfluous));
  for (const uintptr_t number : leaving) slabs_.at(number).leaving = true;
  LastSlab last;
  std::erase_if(free_, [&](const std::byte* page) { return slab_of(page, last).leaving; });
  for (const uintptr_t number : leaving) {
    slabs_.erase(number);
    queue_.device().release_slab(reinterpret_cast<void*>(number * kSlabBytes));
  }
}

bool DevicePages::shared(const std::byte* page) const {
  const std::lock_guard lock(mutex_);
  return owners_in(slab_of(page), page) > 1;
}

size_t DevicePages::pages_in_use() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

size_t DevicePages::bytes_in_use() const {
  const std::lock_guard lock(mutex_);
  return slabs_.size() * kSlabBytes;
}

}  // namespace longhaul
