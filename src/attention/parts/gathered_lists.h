#pragma once
// Keys in blocks (Q8_0, say) are read slowly by a GPU's kernels, which expand them time and again,
// and only bf16 pages can be read by masks. Where a pass reads a list in many small pieces, the
// device gathers it once in bf16 (DeviceOps::gather_lists), for the look at its keys and for
// attention; since not all lists have room at a time, KV heads take turns.

#include <cstdint>
#include <vector>

#include "attention/step.h"

namespace longhaul {

/// Goes over the KV heads of a step that attend. Row i of their lists is token i, one list each.
class GatheredLists {
 public:
  explicit GatheredLists(LayerStep& step);
  ~GatheredLists();  ///< leaves the step as it was
  GatheredLists(const GatheredLists&) = delete;
  GatheredLists& operator=(const GatheredLists&) = delete;

  /// The step is of the next heads alone from now on, and reads copies of their lists, or of all
  /// that are left, as they lie. False behind the last.
  bool next();

 private:
  /// Heads that attend, from `head` on, one after the other.
  int neighbours(int head) const;
  int gather(int head, int count);

  LayerStep& step_;
  std::span<const uint8_t> only_;  ///< the step's own
  std::vector<uint8_t> own_;       ///< heads of this turn
  std::vector<PagedRows> copies_;  ///< per list
  int head_ = 0;                   ///< the next
};

}  // namespace longhaul
