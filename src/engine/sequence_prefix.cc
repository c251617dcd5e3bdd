// Copies of sequences. If several methods process the same prompt, the part that all of them
// process densely is computed only once.

#include <algorithm>

#include "base/error.h"
#include "engine/sequence_state.h"
#include "ops/attention/causal_pairs.h"

namespace longhaul {

ContextCopy Sequence::copy_context() const {
  const State& s = *state_;
  ContextCopy copy{
      s.tokens, {}, s.recurrent.clone(), s.angles_length, s.record.seconds + s.taken_seconds};
  s.for_each([&](const State& each) { copy.stores.push_back(each.store().fork()); });
  return copy;
}

int64_t Sequence::State::take_over(const ContextCopy& copy, std::span<const int32_t> prompt,
                                   int64_t instruction, int64_t most) {
  LH_ASSERT(tokens.empty());
  const KvStore& from = nth(copy.stores, options.queue.rank());
  const auto length = static_cast<int64_t>(prompt.size());
  const auto [mine, theirs] =
      std::mismatch(prompt.begin(), prompt.end(), copy.tokens.begin(), copy.tokens.end());
  const int64_t read_alike = method->dense_prefix({0, length, instruction, chunk});
  const int64_t here =
      from.layout().same_rows(store().layout())
          ? std::min({int64_t{mine - prompt.begin()}, read_alike, length - 1, most})
          : 0;
  int64_t taken = options.queue.least_of_members(here);
  RecurrentState state = copy.recurrent.clone();
  if (taken > 0 && !state.empty()) taken = state.rewind(taken);
  if (taken <= 0) return 0;
  KvStore copied = from.fork_as(store().layout());
  copied.truncate(taken);
  streams.front() = std::move(copied);
  recurrent = std::move(state);
  set_angles(length);
  tokens.assign(prompt.begin(), prompt.begin() + taken);
  const int64_t pairs = dense_pairs(shape.window, 0, taken, shape.chunked);
  const int64_t of_copy = dense_pairs(shape.window, 0, std::ssize(copy.tokens), shape.chunked);
  taken_pairs = shape.heads * pairs;
  taken_seconds =
      copy.attention_seconds * static_cast<double>(pairs) / static_cast<double>(of_copy);
  return taken;
}

int64_t Sequence::begin_with(const ContextCopy& copy, std::span<const int32_t> prompt,
                             int64_t instruction, int64_t most) {
  State& s = state_->usable();
  const RopeSpec& rope = s.engine->model().config.rope;
  if (prompt.empty() || !rope.same_angles(copy.angles_length, std::ssize(prompt))) return 0;
  int64_t taken = 0;
  s.together([&](State& each) {
    const int64_t here = each.take_over(copy, prompt, instruction, most);
    if (each.is_root()) taken = here;
  });
  return taken;
}

}  // namespace longhaul
