// Offloaded pages of a KvStore: spill() moves pages from memory to disk, and load() loads them
// again. A page that has a slot in the file has not changed since it was written. It is therefore
// offloaded without another write.

#include <utility>

#include "base/error.h"
#include "kv/kv_store.h"

namespace longhaul {

void KvStore::spill(int layer, int head, int64_t begin, int64_t end) {
  Head& h = at(layer, head);
  LH_ASSERT(begin >= 0 && end <= h.length);
  if (!queue_.on_host()) return;  // stores in device memory cannot offload pages
  const int64_t per_page = layout_.page_rows;
  const size_t last = static_cast<size_t>(end / per_page);
  for (size_t page = static_cast<size_t>((begin + per_page - 1) / per_page); page < last; ++page) {
    if (h.pages[page] == nullptr) continue;
    if (h.slots.size() <= page) h.slots.resize(page + 1, kNoSlot);
    if (h.slots[page] == kNoSlot) h.slots[page] = file(h).write(h.pages[page]);
    memory(h).release(std::exchange(h.pages[page], nullptr));
    forget_bytes();
  }
}

void KvStore::load(int layer, int head, int64_t begin, int64_t end) {
  Head& h = at(layer, head);
  LH_ASSERT(begin >= 0 && end <= h.length);
  const int64_t per_page = layout_.page_rows;
  const size_t last = static_cast<size_t>((end + per_page - 1) / per_page);
  for (size_t page = static_cast<size_t>(begin / per_page); page < last; ++page) load(h, page);
}

void KvStore::load(Head& h, size_t page) {
  if (h.pages[page] != nullptr) return;
  std::byte* const page_memory = memory(h).acquire();
  try {
    file(h).read(h.slots[page], page_memory);
  } catch (...) {
    memory(h).release(page_memory);
    throw;
  }
  h.pages[page] = page_memory;
  forget_bytes();
}

/// Removes the copy of a page on disk. Must be called before the page is changed.
void KvStore::drop_slot(Head& h, size_t page) {
  if (page >= h.slots.size() || h.slots[page] == kNoSlot) return;
  LH_ASSERT(h.pages[page] != nullptr);
  file(h).release(std::exchange(h.slots[page], kNoSlot));
}

bool KvStore::in_memory(int layer, int head, int64_t begin, int64_t end) const {
  const Head& h = at(layer, head);
  LH_ASSERT(begin >= 0 && end <= h.length);
  for (int64_t row = begin; row < end; row += layout_.page_rows - row % layout_.page_rows) {
    if (h.pages[static_cast<size_t>(row / layout_.page_rows)] == nullptr) return false;
  }
  return true;
}

size_t KvStore::spilled_bytes() const {
  size_t bytes = 0;
  for (const Head& h : heads_) {
    for (const std::byte* page : h.pages) bytes += page == nullptr ? form(h).page_bytes() : 0;
  }
  return bytes;
}

}  // namespace longhaul
