#include "kv/device_pages.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "base/assert.h"

namespace longhaul {
namespace {

constexpr size_t kSlabBytes = DeviceQueue::kSlabBytes;

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
  for (const Slab& slab : slabs_) {
    LH_ASSERT(slab.used == 0);
    if (slab.memory != nullptr) queue_.device().release_slab(slab.memory);
  }
}

void DevicePages::add_slab() {
  const auto unused =
      std::ranges::find_if(slabs_, [](const Slab& slab) { return slab.memory == nullptr; });
  const auto number = static_cast<size_t>(unused - slabs_.begin());
  if (unused == slabs_.end()) slabs_.emplace_back();
  auto* const first = static_cast<std::byte*>(queue_.device().allocate_slab());
  slabs_[number] = {first, 0, std::vector<uint32_t>(per_slab_)};
  numbers_[first] = number;
  queue_.device().clear(first, kSlabBytes);
  for (size_t i = per_slab_; i-- > 0;) free_.push_back(first + i * stride_);
}

bool DevicePages::within(const Slab& slab, const std::byte* page) const {
  return slab.memory != nullptr && page >= slab.memory && page < slab.memory + kSlabBytes;
}

DevicePages::Slab& DevicePages::slab_of(const std::byte* page) const {
  if (last_ >= slabs_.size() || !within(slabs_[last_], page)) {
    const auto behind = numbers_.upper_bound(page);
    LH_ASSERT(behind != numbers_.begin());
    last_ = std::prev(behind)->second;
    LH_ASSERT(within(slabs_[last_], page));
  }
  return slabs_[last_];
}

uint32_t& DevicePages::owners_of(const std::byte* page) const {
  Slab& slab = slab_of(page);
  return slab.owners[static_cast<size_t>(page - slab.memory) / stride_];
}

std::byte* DevicePages::acquire() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) add_slab();
  std::byte* const page = free_.back();
  free_.pop_back();
  owners_of(page) = 1;
  ++slab_of(page).used;
  return page;
}

void DevicePages::share(std::byte* page) {
  const std::lock_guard lock(mutex_);
  ++owners_of(page);
}

void DevicePages::release(std::byte* page) {
  const std::lock_guard lock(mutex_);
  uint32_t& owners = owners_of(page);
  LH_ASSERT(owners > 0);
  if (--owners > 0) return;
  free_.push_back(page);
  Slab& slab = slab_of(page);
  // Keeps some free pages (128 MiB), so that lists that grow and shrink need not allocate each
  // time. Freeing a slab must wait for all queued work.
  constexpr size_t kSpareSlabs = 8;
  if (--slab.used > 0 || free_.size() < (kSpareSlabs + 1) * per_slab_) return;
  std::erase_if(free_, [&](const std::byte* of) { return within(slab, of); });
  numbers_.erase(slab.memory);
  queue_.device().release_slab(std::exchange(slab.memory, nullptr));
}

bool DevicePages::shared(const std::byte* page) const {
  const std::lock_guard lock(mutex_);
  return owners_of(page) > 1;
}

size_t DevicePages::pages_in_use() const {
  const std::lock_guard lock(mutex_);
  size_t pages = 0;
  for (const Slab& slab : slabs_) pages += slab.used;
  return pages;
}

size_t DevicePages::bytes_in_use() const {
  const std::lock_guard lock(mutex_);
  const auto held =
      std::ranges::count_if(slabs_, [](const Slab& s) { return s.memory != nullptr; });
  return static_cast<size_t>(held) * kSlabBytes;
}

}  // namespace longhaul
