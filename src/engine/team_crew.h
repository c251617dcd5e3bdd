#pragma once
// Manages one worker thread for each device of a communicator (base/communicator.h).

#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "base/communicator.h"
#include "base/queue.h"
#include "base/worker_group.h"

namespace longhaul {

/// Returns the threads of the queue's communicator. The result is null if the queue has a single
/// device. All users of a communicator share its threads, and only one user runs at a time.
std::shared_ptr<WorkerGroup> crew_of(const Queue& queue);

/// Calls work(member) in the thread of every rank. Returns the exception of each rank, or null.
std::vector<std::exception_ptr> run_team(const Queue& queue, WorkerGroup& workers,
                                         const std::function<void(int member)>& work);

/// Rethrows the first exception except CommunicatorAborted, which only means that another rank
/// failed. Returns if no rank threw.
void rethrow_first(const std::vector<std::exception_ptr>& thrown);

}  // namespace longhaul
