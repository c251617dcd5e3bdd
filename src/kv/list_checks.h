#pragma once
// Checks of the lists restored from a session file. Such a file may be hostile, and methods rely on
// the lengths of their lists. All functions throw UserError, without the file's name.

#include <cstdint>

#include "kv/kv_store.h"

namespace longhaul {

/// Checks one list.
void expect_length(const KvStore& store, int layer, int list, int64_t rows);
/// Checks that the lists of the layer have equal lengths and are in memory.
void expect_equal_lists(const KvStore& store, int layer);
/// Checks that the existing rows of [begin, end) in every list of the layer are in memory.
void expect_in_memory(const KvStore& store, int layer, int64_t begin, int64_t end);

}  // namespace longhaul
