#pragma once
// What is demanded of the lists that a session file has brought: such a file may be hostile, and
// methods trust the lengths of their lists. All throw UserError, without the file's name.

#include <cstdint>

#include "kv/kv_store.h"

namespace longhaul {

/// One list.
void expect_length(const KvStore& store, int layer, int list, int64_t rows);
/// The lists of the layer are equally long, and in memory.
void expect_equal_lists(const KvStore& store, int layer);
/// Rows [begin, end) of every list of the layer that there are.
void expect_in_memory(const KvStore& store, int layer, int64_t begin, int64_t end);

}  // namespace longhaul
