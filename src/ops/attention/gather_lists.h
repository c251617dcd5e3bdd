#pragma once
// Copies lists to memory from which a device reads them faster. A list is the stored rows (keys and
// values) of one KV head in one layer.

#include "base/on_device.h"
#include "ops/attention/attention.h"

namespace longhaul {

/// Copies stored rows [0, keys) of the first n lists to bf16 pages, which attention and the
/// operations of ops/maps read fastest. Writes the description of copy i to to[i], and returns n. n
/// is the number of copies that the memory limit allows, or 0 if the lists are best read in place
/// or memory does not suffice. `rows` is the number of (query row, query head) pairs that will read
/// each list. The next call of gather_lists() on the same queue overwrites the copies. So does a
/// call of attend() or top_keys() over other keys, because these functions may gather keys into the
/// same pages.
inline const DeviceOperation<int(std::span<const PagedRows> lists, int64_t keys, int64_t rows,
                                 std::span<PagedRows> to)>
    kGatherLists;
inline int gather_lists(const Queue& queue, std::span<const PagedRows> lists, int64_t keys,
                        int64_t rows, std::span<PagedRows> to) {
  return on_device(kGatherLists, queue, lists, keys, rows, to);
}

}  // namespace longhaul
