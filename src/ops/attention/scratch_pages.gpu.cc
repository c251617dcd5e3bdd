#include "ops/attention/scratch_pages.gpu.h"

#include <algorithm>

#include "base/error.h"
#include "ops/attention/attend_records.h"
#include "ops/core/device_room.h"

namespace longhaul::cuda {

ScratchPages::~ScratchPages() {
  for (void* slab : slabs_) queue_.release_slab(slab);
}

void ScratchPages::set_form(int head_dim, size_t most_bytes) {
  const size_t slabs = (most_bytes + DeviceQueue::kSlabBytes - 1) / DeviceQueue::kSlabBytes;
  const size_t most = slabs * (DeviceQueue::kSlabBytes / bf16_page_bytes(head_dim));
  if (head_dim == head_dim_ && most <= most_pages_) return;
  if (head_dim != head_dim_) {
    head_dim_ = head_dim;
    most_pages_ = 0;
    pages_.clear();
    for (void* slab : slabs_) queue_.release_slab(slab);
    slabs_.clear();
  }
  // Reserves both lists, so that they do not move while rows are gathered.
  most_pages_ = std::max(most, 2 * most_pages_);
  pages_.reserve(most_pages_);
  table_.at_least(most_pages_ * sizeof(std::byte*));
  queue_.upload(pages_.data(), table_.data, pages_.size() * sizeof(std::byte*));
}

bool ScratchPages::reserve(int64_t pages) {
  const auto wanted = static_cast<size_t>(pages);
  if (wanted > most_pages_) return false;
  const size_t slabs = slabs_.size(), held = pages_.size();
  while (pages_.size() < wanted) {
    try {
      slabs_.push_back(queue_.allocate_slab());
    } catch (const UserError&) {  // returns slabs that do not suffice, since others need them
      for (; slabs_.size() > slabs; slabs_.pop_back()) queue_.release_slab(slabs_.back());
      pages_.resize(held);
      return false;
    }
    const auto* const slab = static_cast<const std::byte*>(slabs_.back());
    const size_t first = pages_.size();
    for (size_t at = 0; at < DeviceQueue::kSlabBytes; at += bf16_page_bytes(head_dim_))
      pages_.push_back(slab + at);
    queue_.upload(pages_.data() + first, static_cast<const std::byte**>(table_.data) + first,
                  (pages_.size() - first) * sizeof(std::byte*));
  }
  return true;
}

PagedRows ScratchPages::rows_from(int64_t first) const {
  return {pages_.data() + first, kPageRows,      head_dim_,
          DType::BF16,           queue_.place(), listed_from(first)};
}

}  // namespace longhaul::cuda
