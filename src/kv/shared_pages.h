#pragma once
// Provides the page pools that all stores of the process share. There is one pool for each page
// size on the host, and on each device. A short sequence therefore uses only its pages, and no
// slabs of its own.

#include <cstddef>
#include <memory>

#include "base/queue.h"
#include "kv/kv_layout.h"
#include "kv/page_memory.h"

namespace longhaul {

/// Returns the pool for pages of this row format, in the memory of the queue's device or of the
/// host. The pool exists as long as a store uses it.
std::shared_ptr<PageMemory> shared_pages(const RowForm& form, const Queue& queue);
/// Returns the pool for pages of the layout's largest rows.
inline std::shared_ptr<PageMemory> shared_pages(const KvLayout& layout, const Queue& queue) {
  return shared_pages(layout.largest_form(), queue);
}

/// Returns the bytes of all pages in use in the shared pools of the queue's device or of the host.
/// A page with several owners counts once.
size_t shared_page_bytes_in_use(const Queue& queue);

}  // namespace longhaul
