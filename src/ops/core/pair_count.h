#pragma once
// A counter to which operations add on a device (AttendCall::counted).

#include "base/array.h"

namespace longhaul {

/// [1] on a device; initialised to zero if `memory` is empty.
View<int64_t> device_count(Queue& queue, Array<int64_t>& memory);

/// Returns the current count, or 0 if `memory` is empty. Waits for the queue.
int64_t read_count(Queue& queue, const Array<int64_t>& memory);

}  // namespace longhaul
