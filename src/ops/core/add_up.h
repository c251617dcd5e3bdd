#pragma once
// All-reduce and all-gather over the devices that share a model's heads (base/team.h).

#include "base/array.h"

namespace longhaul {

/// All-reduce: replaces `x` by the sum over all members of the queue's team, with identical bits on
/// all of them. All members must call it with equal sizes. Without a team `x` is already the sum.
inline void add_up(Queue& queue, View<float> x) {
  if (queue.team() == nullptr) return;
  LH_ASSERT(x.place() == queue.place());
  queue.team()->add_up(queue.member(), x.address(), x.size());
}

/// All-gather: writes the `own` views of all members of the queue's team to `all`, [members,
/// own.size()]. Elements have 4 bytes, and all members have the same number of them.
template <class T>
void gather(Queue& queue, View<const T> own, View<T> all) {
  static_assert(sizeof(T) == sizeof(int32_t));
  LH_ASSERT(queue.team() != nullptr && all.size() == own.size() * queue.members());
  queue.team()->gather(queue.member(), reinterpret_cast<const int32_t*>(own.address()), own.size(),
                       reinterpret_cast<int32_t*>(all.address()));
}

}  // namespace longhaul
