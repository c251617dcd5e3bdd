#pragma once
// Provides page pools that all KV stores of the process share. The host and each device have one
// pool for each page size. A pool allocates memory in slabs of many pages. Because stores share
// pools, a short sequence uses only some pages and not a whole slab.

#include <cstddef>
#include <memory>

#include "base/queue.h"
#include "kv/kv_layout.h"
#include "kv/page_memory.h"

namespace longhaul {

/// Returns the pool for pages of this row format, in the memory of the queue's device or of the
/// host. The pool is destroyed when its last user releases the pointer.
std::shared_ptr<PageMemory> shared_pages(const RowForm& form, const Queue& queue);
/// Returns the pool for the largest pages of the layout.
inline std::shared_ptr<PageMemory> shared_pages(const KvLayout& layout, const Queue& queue) {
  return shared_pages(layout.largest_form(), queue);
}

/// Returns the total size in bytes of the pages in use in the shared pools of the queue's device or
/// of the host. A page with several owners counts once.
size_t shared_page_bytes_in_use(const Queue& queue);

}  // namespace longhaul
