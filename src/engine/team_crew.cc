#include "engine/team_crew.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "base/error.h"

namespace longhaul {
namespace {

bool failed_by_another(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const CommunicatorAborted&) {
    return true;
  } catch (...) {
    return false;
  }
}

bool none_threw(const std::vector<std::exception_ptr>& thrown) {
  return std::ranges::all_of(thrown, [](const auto& each) { return each == nullptr; });
}

}  // namespace

std::shared_ptr<WorkerGroup> crew_of(const Queue& queue) {
  if (queue.ranks() == 1) return nullptr;
  static std::mutex mutex;
  static std::map<const Communicator*, std::weak_ptr<WorkerGroup>> crews;
  const std::lock_guard lock(mutex);
  std::erase_if(crews, [](const auto& each) { return each.second.expired(); });
  std::weak_ptr<WorkerGroup>& known = crews[queue.communicator().get()];
  std::shared_ptr<WorkerGroup> workers = known.lock();
  if (workers == nullptr) known = workers = std::make_shared<WorkerGroup>(queue.ranks());
  return workers;
}

std::vector<std::exception_ptr> run_team(const Queue& queue, WorkerGroup& workers,
                                         const std::function<void(int)>& work) {
  Communicator& communicator = *queue.communicator();
  communicator.begin_step();
  std::vector<std::exception_ptr> thrown = workers.run(
      [&](int member) {
        communicator.device(member)->enter();
        work(member);
        communicator.end_step();
      },
      [&] { communicator.give_up(); });
  if (none_threw(thrown)) return thrown;
  try {
    communicator.begin_anew();
  } catch (const std::exception&) {
    // The first error is reported. If this one persists, the next call reports it.
  }
  return thrown;
}

void rethrow_first(const std::vector<std::exception_ptr>& thrown) {
  if (none_threw(thrown)) return;
  for (const std::exception_ptr& each : thrown) {
    if (each != nullptr && !failed_by_another(each)) std::rethrow_exception(each);
  }
  user_error("the devices took different steps, which is a mistake of this program");
}

}  // namespace longhaul
