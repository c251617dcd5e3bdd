// A sequence on several devices, which share the model's heads.

#include <algorithm>

#include "base/error.h"
#include "engine/sequence_state.h"

namespace longhaul {

void Sequence::State::together(const std::function<void(State&)>& work) {
  if (crew == nullptr) return work(*this);
  run_crew([&](int member) { work(of_member(member).usable()); });
}

void Sequence::State::run_crew(const std::function<void(int)>& work) {
  const std::vector<std::exception_ptr> thrown = run_team(options.queue, *crew, work);
  const bool threw = std::ranges::any_of(thrown, [](const auto& each) { return each != nullptr; });
  const bool same_text = std::ranges::all_of(
      mates, [&](const auto& mate) { return mate == nullptr || mate->tokens == tokens; });
  if (threw && !same_text) {
    to_be_reset = true;  // for all of them, in case the reset of one fails
    for (const auto& mate : mates) mate->to_be_reset = true;
    reset();
    for (const auto& mate : mates) mate->reset();
  }
  rethrow_first(thrown);
}

void Sequence::State::all_agree(const std::function<void()>& check) {
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
