#pragma once
// The threads of a team's members.

#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "base/communicator.h"
#include "base/queue.h"
#include "base/worker_group.h"

namespace longhaul {

/// The threads that work for the members of the queue's team; null without a team. All users of a
/// team share its threads, and one of them works at a time.
std::shared_ptr<WorkerGroup> crew_of(const Queue& queue);

/// Calls work(member) in the thread of every member. Returns the exception of each member, or null.
std::vector<std::exception_ptr> run_team(const Queue& queue, WorkerGroup& workers,
                                         const std::function<void(int member)>& work);

/// Rethrows the first exception that is not CommunicatorAborted, which only means that another
/// member failed. Returns if no member threw.
void rethrow_first(const std::vector<std::exception_ptr>& thrown);

}  // namespace longhaul
