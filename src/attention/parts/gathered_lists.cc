#include "attention/parts/gathered_lists.h"

#include <algorithm>

#include "ops/attention/gather_lists.h"

namespace longhaul {

GatheredLists::GatheredLists(LayerStep& step) : step_(step), only_(step.only) {
  LH_ASSERT(step.store->lists(step.layer) == step.kv_heads);
}

GatheredLists::~GatheredLists() {
  step_.only = only_;
  step_.copies = {};
}

bool GatheredLists::next() {
  step_.only = only_;
  step_.copies = {};
  while (head_ < step_.kv_heads && !step_.attends(head_)) ++head_;
  if (head_ == step_.kv_heads) return false;
  const int first = head_, gathered = gather(head_, neighbours(head_));
  head_ = gathered > 0 ? first + gathered : step_.kv_heads;
  own_.assign(static_cast<size_t>(step_.kv_heads), 0);
  for (int head = first; head < head_; ++head) nth(own_, head) = step_.attends(head) ? 1 : 0;
  step_.only = own_;
  if (gathered > 0) step_.copies = copies_;
  return true;
}

int GatheredLists::neighbours(int head) const {
  int end = head;
  while (end < step_.kv_heads && step_.attends(end)) ++end;
  return end - head;
}

/// Gathers the lists of `count` heads from `head` on, as many as fit in device memory. Returns
/// their number, or 0 if the device reads the lists best in place.
int GatheredLists::gather(int head, int count) {
  std::vector<PagedRows> lists;
  for (int i = 0; i < count; ++i) lists.push_back(step_.store->rows(step_.layer, head + i));
  copies_.assign(static_cast<size_t>(step_.kv_heads), {});
  const std::span<PagedRows> to =
      std::span(copies_).subspan(static_cast<size_t>(head), static_cast<size_t>(count));
  return gather_lists(*step_.queue, lists, step_.begin + step_.rows,
                      int64_t{step_.rows} * step_.group(), to);
}

}  // namespace longhaul
