#pragma once
// Page pools that all stores of the process share: one for each page size of the host and of each
// device. A short sequence then uses only its pages, not slabs of its own.

#include <cstddef>
#include <memory>

#include "base/queue.h"
#include "kv/kv_layout.h"
#include "kv/page_memory.h"

namespace longhaul {

/// The pool of pages of such rows where the queue works. It lives as long as a store has
/// it.
std::shared_ptr<PageMemory> shared_pages(const RowForm& form, const Queue& queue);
/// The pool of pages of the layout's largest rows.
inline std::shared_ptr<PageMemory> shared_pages(const KvLayout& layout, const Queue& queue) {
  return shared_pages(layout.largest_form(), queue);
}

/// Bytes of the pages in use of all shared pools where the queue works. Shared pages count once.
size_t shared_page_bytes_in_use(const Queue& queue);

}  // namespace longhaul
