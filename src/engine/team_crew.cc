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
  } catch (const TeamGaveUp&) {
    return true;
  } catch (...) {
    return false;
  }
}

bool none_threw(const std::vector<std::exception_ptr>& thrown) {
  return std::ranges::all_of(thrown, [](const auto& each) { return each == nullptr; });
}

}  // namespace

std::shared_ptr<Crew> crew_of(const Queue& queue) {
  if (queue.members() == 1) return nullptr;
  static std::mutex mutex;
  static std::map<const Team*, std::weak_ptr<Crew>> crews;
  const std::lock_guard lock(mutex);
  std::erase_if(crews, [](const auto& each) { return each.second.expired(); });
  std::weak_ptr<Crew>& known = crews[queue.team().get()];
  std::shared_ptr<Crew> crew = known.lock();
  if (crew == nullptr) known = crew = std::make_shared<Crew>(queue.members());
  return crew;
}

std::vector<std::exception_ptr> run_team(const Queue& queue, Crew& crew,
                                         const std::function<void(int)>& work) {
  Team& team = *queue.team();
  team.begin_step();
  std::vector<std::exception_ptr> thrown = crew.run(
      [&](int member) {
        team.device(member)->enter();
        work(member);
        team.end_step();
      },
      [&] { team.give_up(); });
  if (none_threw(thrown)) return thrown;
  try {
    team.begin_anew();
  } catch (const std::exception&) {  // the first error is reported; the next step fails as well
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
