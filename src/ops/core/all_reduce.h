#pragma once
// All-reduce and all-gather over the GPUs (ranks) that share the heads of a model
// (base/communicator.h).

#include "base/array.h"

namespace longhaul {

/// All-reduce: replaces `x` by its sum over all ranks of the queue's communicator. The sum is
/// bitwise equal on all ranks. All ranks must call this function with views of equal size. If the
/// queue has no communicator, `x` does not change.
inline void all_reduce(Queue& queue, View<float> x) {
  if (queue.communicator() == nullptr) return;
  LH_ASSERT(x.place() == queue.place());
  queue.communicator()->all_reduce(queue.rank(), x.address(), x.size());
}

/// All-gather: every rank passes a view `own`. The function writes the views of all ranks to `all`
/// [ranks, own.size()], in the order of the ranks. All views `own` must have the same size, and
/// elements must have 4 bytes.
template <class T>
void all_gather(Queue& queue, View<const T> own, View<T> all) {
  static_assert(sizeof(T) == sizeof(int32_t));
  LH_ASSERT(queue.communicator() != nullptr && all.size() == own.size() * queue.ranks());
  queue.communicator()->all_gather(queue.rank(), reinterpret_cast<const int32_t*>(own.address()),
                                   own.size(), reinterpret_cast<int32_t*>(all.address()));
}

}  // namespace longhaul
