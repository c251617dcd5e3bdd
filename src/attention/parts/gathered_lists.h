#pragma once
// Keys in a block format (such as Q8_0) are slow to read for GPU kernels, which dequantize them
// repeatedly. Kernels with masks read only bf16 pages. When a pass reads a list in many small
// pieces, the device gathers it once in bf16 (DeviceOps::gather_lists), for scoring its keys and
// for attention. Memory may not suffice for all lists at once, so KV heads are processed in groups.

#include <cstdint>
#include <vector>

#include "attention/step.h"

namespace longhaul {

/// Iterates over the attending KV heads of a step. Row i of their lists is token i, and each head
/// has one list.
class GatheredLists {
 public:
  explicit GatheredLists(LayerStep& step);
  ~GatheredLists();  ///< restores the step
  GatheredLists(const GatheredLists&) = delete;
  GatheredLists& operator=(const GatheredLists&) = delete;

  /// Restricts the step to the next group of heads. The step then reads copies of their lists; if
  /// the device does not copy, the group is all remaining heads, read in place. Returns false after
  /// the last group.
  bool next();

 private:
  /// Number of attending heads in a row, beginning with `head`.
  int neighbours(int head) const;
  int gather(int head, int count);

  LayerStep& step_;
  std::span<const uint8_t> only_;  ///< the step's original value
  std::vector<uint8_t> own_;       ///< heads of the current group
  std::vector<PagedRows> copies_;  ///< per list
  int head_ = 0;                   ///< first head of the next group
};

}  // namespace longhaul
