#pragma once
// GatheredLists makes copies of KV lists in bf16, if the device reads them faster than the stored
// rows (ops/attention/gather_lists.h). A KV list holds the stored keys and values of one KV head.
// GPU kernels are slow on keys in a block format such as Q8_0, because they dequantize them
// repeatedly. Kernels with masks can read only bf16 pages. A copy is useful when a pass reads a
// list in many small pieces. Memory may not suffice for copies of all lists at once, so the KV
// heads are processed in groups.

#include <cstdint>
#include <vector>

#include "attention/step.h"

namespace longhaul {

/// Iterates over the KV heads of a step, in groups. Only heads are included for which
/// LayerStep::attends() is true. Each head must have one list, in which row i is token i.
class GatheredLists {
 public:
  explicit GatheredLists(LayerStep& step);
  ~GatheredLists();  ///< restores the original state of the step
  GatheredLists(const GatheredLists&) = delete;
  GatheredLists& operator=(const GatheredLists&) = delete;

  /// Restricts the step to the next group of heads, and makes it read copies of their lists. If the
  /// device makes no copies, the group consists of all remaining heads and the step reads the
  /// stored rows. Returns false after the last group.
  bool next();

 private:
  /// Returns the number of adjacent attending heads from `head` on.
  int neighbours(int head) const;
  /// Copies the lists of up to `count` heads from `head` on. Returns the number of copied lists.
  int gather(int head, int count);

  LayerStep& step_;
  std::span<const uint8_t> only_;  ///< the original value of LayerStep::only
  std::vector<uint8_t> own_;       ///< flags of the heads in the current group
  std::vector<PagedRows> copies_;  ///< one element per list
  int head_ = 0;                   ///< first head of the next group
};

}  // namespace longhaul
