#pragma once
// A counter in device memory, to which attention on the device adds the number of query-key pairs
// that it computes (AttendCall::counted).

#include "base/array.h"

namespace longhaul {

/// Returns a view of the counter `memory`, which has one element on the device. If `memory` is
/// empty, it is first created with the value zero. On the host there is no counter, and the view is
/// empty.
View<int64_t> device_count(Queue& queue, Array<int64_t>& memory);

/// Sets the counter `to` to the value of another counter of the same queue. Does not wait.
void copy_count(Queue& queue, const Array<int64_t>& from, Array<int64_t>& to);

/// Returns the current value of the counter, or 0 if `memory` is empty. Waits for the queue.
int64_t read_count(Queue& queue, const Array<int64_t>& memory);

}  // namespace longhaul
