// A session on several devices, which have the model's heads between them.

#include <algorithm>

#include "base/error.h"
#include "engine/session_state.h"

namespace longhaul {
namespace {

bool is_of_another(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const TeamGaveUp&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

void Session::State::call_mates() {
  const int members = options.queue.members();
  crew = std::make_unique<Crew>(members);
  mates.resize(static_cast<size_t>(members) - 1);
  run_crew([&](int member) {
    if (member == 0) return;
    SessionOptions own = options;
    own.queue = Queue(options.queue.team(), member);
    nth(mates, member - 1) = std::make_unique<State>(engine, own);
  });
}

void Session::State::together(const std::function<void(State&)>& work) {
  if (crew == nullptr) return work(*this);
  run_crew([&](int member) { work((member == 0 ? *this : *nth(mates, member - 1)).usable()); });
}

/// Rethrows what the first failure was: TeamGaveUp, which the others were thrown, says nothing.
void Session::State::run_crew(const std::function<void(int)>& work) {
  Team& team = *options.queue.team();
  team.begin_step();
  const std::vector<std::exception_ptr> thrown = crew->run(
      [&](int member) {
        team.device(member)->enter();
        work(member);
        team.end_step();
      },
      [&] { team.give_up(); });
  if (std::ranges::all_of(thrown, [](const auto& each) { return each == nullptr; })) return;
  try {
    team.begin_anew();
  } catch (
      const std::exception&) {  // the first error is the one to tell; what comes next fails, too
  }
  const bool same_text = std::ranges::all_of(
      mates, [&](const auto& mate) { return mate == nullptr || mate->tokens == tokens; });
  if (!same_text) {
    to_be_reset = true;  // all of them, should the reset of one fail
    for (const auto& mate : mates) mate->to_be_reset = true;
    reset();
    for (const auto& mate : mates) mate->reset();
  }
  for (const std::exception_ptr& each : thrown) {
    if (each != nullptr && !is_of_another(each)) std::rethrow_exception(each);
  }
  user_error("the devices took different steps, which is a mistake of this program");
}

void Session::State::all_agree(const std::function<void()>& check) {
  if (options.queue.members() == 1) return check();
  std::exception_ptr refused;
  try {
    check();
  } catch (...) {
    refused = std::current_exception();
  }
  const bool any = options.queue.any_member(refused != nullptr);
  if (refused != nullptr) std::rethrow_exception(refused);
  if (any) throw TeamGaveUp();
}

}  // namespace longhaul
