#pragma once
// What methods with sinks and a window of recent tokens keep: the first rows of a list and the
// last.

#include <cstdint>

#include "kv/kv_store.h"

namespace longhaul {

/// Forgets rows between the first `sink` and the last `recent` of a list by whole pages, so that
/// later pages move and not rows: up to page_rows - 1 rows between the two stay for a while, out
/// of sight.
void drop_middle(KvStore& store, int layer, int head, int64_t sink, int64_t recent);

/// The same for every list of the store.
void drop_middle(KvStore& store, int64_t sink, int64_t recent);

/// Most rows that such a list holds when a pass of `chunk` rows is appended before the drop.
int64_t most_rows(const KvLayout& layout, int64_t sink, int64_t recent, int chunk);

}  // namespace longhaul
