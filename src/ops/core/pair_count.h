#pragma once
// A count that operations add to where the queue works (AttendCall::counted).

#include "base/array.h"

namespace longhaul {

/// [1] on a device: zero when `memory` has nothing yet.
View<int64_t> device_count(Queue& queue, Array<int64_t>& memory);

/// What was counted so far, 0 where nothing was. Waits for the queue.
int64_t read_count(Queue& queue, const Array<int64_t>& memory);

}  // namespace longhaul
