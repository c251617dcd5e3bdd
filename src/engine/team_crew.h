#pragma once
// Runs work on all devices of a communicator, with one worker thread per device. A communicator is
// a group of devices that share a model; each device is a rank (base/communicator.h).

#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "base/communicator.h"
#include "base/queue.h"
#include "base/worker_group.h"

namespace longhaul {

/// Returns the worker threads of the queue's communicator, or null if the queue has a single
/// device. All users of a communicator share its threads. Only one user can run at a time.
std::shared_ptr<WorkerGroup> crew_of(const Queue& queue);

/// Calls work(rank) for every rank in the rank's thread, and waits. Returns one element per rank:
/// the exception that it threw, or null.
std::vector<std::exception_ptr> run_team(const Queue& queue, WorkerGroup& workers,
                                         const std::function<void(int member)>& work);

/// Rethrows the first exception other than CommunicatorAborted, which only means that another rank
/// failed. Returns if no rank threw.
void rethrow_first(const std::vector<std::exception_ptr>& thrown);

}  // namespace longhaul
