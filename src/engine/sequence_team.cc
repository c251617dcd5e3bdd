// A sequence on several devices, over which the model's heads are split.

#include <algorithm>

#include "base/error.h"
#include "engine/sequence_state.h"

namespace longhaul {

void Sequence::State::together(const std::function<void(State&)>& work) {
  if (workers == nullptr) return work(*this);
  run_workers([&](int member) { work(of_member(member).usable()); });
}

void Sequence::State::run_workers(const std::function<void(int)>& work) {
  const std::vector<std::exception_ptr> thrown = run_team(options.queue, *workers, work);
  const bool threw = std::ranges::any_of(thrown, [](const auto& each) { return each != nullptr; });
  const bool same_text = std::ranges::all_of(
      peers, [&](const auto& mate) { return mate == nullptr || mate->tokens == tokens; });
  if (threw && !same_text) {
    to_be_reset = true;  // set for all ranks, because the reset of one rank may throw
    for (const auto& mate : peers) mate->to_be_reset = true;
    reset();
    for (const auto& mate : peers) mate->reset();
  }
  rethrow_first(thrown);
}

void Sequence::State::all_agree(const std::function<void()>& check) {
  if (options.queue.ranks() == 1) return check();
  std::exception_ptr refused;
  try {
    check();
  } catch (...) {
    refused = std::current_exception();
  }
  const bool any = options.queue.any_member(refused != nullptr);
  if (refused != nullptr) std::rethrow_exception(refused);
  if (any) throw CommunicatorAborted();
}

}  // namespace longhaul
