#pragma once
// The step that methods share which rotate keys once, at their absolute positions, and forget some
// of them afterwards.

#include <vector>

#include "attention/method.h"

namespace longhaul {

/// Appends the step's keys to every list of its layer (one per KV head, or a multiple of that: each
/// KV head then feeds as many neighbouring lists) and attends all rows: to every key kept from
/// earlier passes, causally among the new. In a layer with the model's own window nothing may have
/// been forgotten. `segments` is scratch.
void attend_kept_rows(LayerStep& step, std::vector<KeySegment>& segments);

/// Every row of a list, row i at position i, causal.
KeySegment all_rows(const KvStore& store, int layer, int list);

}  // namespace longhaul
