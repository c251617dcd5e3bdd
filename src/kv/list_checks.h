#pragma once
// Checks of a KV store that was restored from a session file, which may be malicious. Attention
// methods rely on these properties of the lists. A list holds the stored rows of one KV head in one
// layer. All functions throw UserError if the check fails. The message does not include the name of
// the file.

#include <cstdint>

#include "kv/kv_store.h"

namespace longhaul {

/// Checks that a list has `rows` rows.
void expect_length(const KvStore& store, int layer, int list, int64_t rows);
/// Checks that all lists of the layer have equal length and are in memory.
void expect_equal_lists(const KvStore& store, int layer);
/// Checks that rows [begin, end) are in memory, in every list of the layer. Rows beyond the end of
/// a list are ignored.
void expect_in_memory(const KvStore& store, int layer, int64_t begin, int64_t end);

}  // namespace longhaul
