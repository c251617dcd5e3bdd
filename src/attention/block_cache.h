#pragma once
// Which pages of old rows are in memory: those used last; the others are in the slower tier.

#include <cstdint>
#include <vector>

#include "kv/kv_store.h"

namespace longhaul {

/// Of one layer; all its heads have the same rows.
class BlockCache {
 public:
  /// Begins a step that may use at least `pages` pages at a time.
  void begin_step(size_t pages) { most_ = pages, used_now_ = 0; }
  /// Brings the pages that hold rows [begin, end) into memory. Pages that hold a row before `first`
  /// or from `last` on are never spilled, so they are there.
  void use(KvStore& store, int layer, int64_t begin, int64_t end, int64_t first, int64_t last);
  /// Spills what was not used for longest.
  void end_step(KvStore& store, int layer);

 private:
  std::vector<int32_t> pages_;  ///< in memory, last used last
  size_t used_now_ = 0;         ///< by this step: the last ones
  size_t most_ = 0;
};

}  // namespace longhaul
