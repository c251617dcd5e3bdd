#pragma once
// Copies lists (the stored keys and values of a KV head) to memory from which a device reads them
// faster.

#include "base/on_device.h"
#include "ops/attention/attention.h"

namespace longhaul {

/// Copies rows [0, keys) of each list to memory that attention and
/// map operations read fastest. `rows` is the number of query rows per head that will read each
/// list. As many lists are copied as fit, beginning with the first. Returns their number. It is 0
/// if the lists are best read in place. The copies are valid until other keys are gathered.
/// attend() and top_keys() also gather keys.
inline const DeviceOperation<int(std::span<const PagedRows> lists, int64_t keys, int64_t rows,
                                 std::span<PagedRows> to)>
    kGatherLists;
inline int gather_lists(const Queue& queue, std::span<const PagedRows> lists, int64_t keys,
                        int64_t rows, std::span<PagedRows> to) {
  return on_device(kGatherLists, queue, lists, keys, rows, to);
}

}  // namespace longhaul
