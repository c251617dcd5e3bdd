#pragma once
// Copies of lists of keys and values that a device reads faster than the lists themselves.

#include "ops/attention/attention.h"

namespace longhaul {

/// gather(lists, keys, rows, to) copies rows [0, keys) of lists to memory where attention and map
/// operations read them fastest, for `rows` query rows per head that read each list. It copies as
/// many lists, beginning with the first, as fit, and returns their number; 0 means that they are
/// best read in place. Copies are valid until other keys are gathered, which attend() and
/// top_keys() also do.
inline const DeviceOperation<int(std::span<const PagedRows> lists, int64_t keys, int64_t rows,
                                 std::span<PagedRows> to)>
    kGatherLists;

}  // namespace longhaul
