#pragma once
// Sums and lists over the devices that have a model's heads between them (base/team.h).

#include "base/array.h"

namespace longhaul {

/// What each member of the queue's team has at `x` becomes their sum, of the same bits on all of
/// them. All call it, with as many numbers. On the host, and of a device that works alone, `x` is
/// the sum already.
inline void add_up(Queue& queue, View<float> x) {
  if (queue.team() == nullptr) return;
  LH_ASSERT(x.place() == queue.place());
  queue.team()->add_up(queue.member(), x.address(), x.size());
}

/// What each member of the queue's team has at `own`, one after the other: [members, own.size()] at
/// `all`, which is written. Numbers of 4 bytes; all members have as many.
template <class T>
void gather(Queue& queue, View<const T> own, View<T> all) {
  static_assert(sizeof(T) == sizeof(int32_t));
  LH_ASSERT(queue.team() != nullptr && all.size() == own.size() * queue.members());
  queue.team()->gather(queue.member(), reinterpret_cast<const int32_t*>(own.address()), own.size(),
                       reinterpret_cast<int32_t*>(all.address()));
}

}  // namespace longhaul
