#include "kv/device_pages.h"

#include <algorithm>
#include <bit>

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
  const auto number = static_cast<uint32_t>(unused - slabs_.begin());
  if (unused == slabs_.end()) slabs_.emplace_back();
  void* const memory = queue_.device().allocate_slab();
  slabs_[number] = {memory, 0};
  queue_.device().clear(memory, kSlabBytes);
  auto* const first = static_cast<std::byte*>(memory);
  for (size_t i = per_slab_; i-- > 0;) {
    pages_[first + i * stride_] = {0, number};
    free_.push_back(first + i * stride_);
  }
}

std::byte* DevicePages::acquire() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) add_slab();
  std::byte* const page = free_.back();
  free_.pop_back();
  Page& found = pages_.at(page);
  found.owners = 1;
  ++slabs_[found.slab].used;
  return page;
}

void DevicePages::share(std::byte* page) {
  const std::lock_guard lock(mutex_);
  ++pages_.at(page).owners;
}

void DevicePages::release(std::byte* page) {
  const std::lock_guard lock(mutex_);
  Page& found = pages_.at(page);
  LH_ASSERT(found.owners > 0);
  if (--found.owners > 0) return;
  free_.push_back(page);
  const uint32_t number = found.slab;
  Slab& slab = slabs_[number];
  // Some free pages stay (128 MiB), lest lists that grow and shrink ask for memory each time: to
  // give a slab back takes a wait for all work under way.
  constexpr size_t kSpareSlabs = 8;
  if (--slab.used > 0 || free_.size() < (kSpareSlabs + 1) * per_slab_) return;
  std::erase_if(free_, [&](const std::byte* of) { return pages_.at(of).slab == number; });
  std::erase_if(pages_, [&](const auto& of) { return of.second.slab == number; });
  queue_.device().release_slab(std::exchange(slab.memory, nullptr));
}

bool DevicePages::shared(const std::byte* page) const {
  const std::lock_guard lock(mutex_);
  return pages_.at(page).owners > 1;
}

size_t DevicePages::bytes_in_use() const {
  const std::lock_guard lock(mutex_);
  const auto held =
      std::ranges::count_if(slabs_, [](const Slab& s) { return s.memory != nullptr; });
  return static_cast<size_t>(held) * kSlabBytes;
}

}  // namespace longhaul
