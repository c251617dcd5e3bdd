// Reading the common beginning of a prompt once for several methods.

#include <algorithm>

#include "base/error.h"
#include "engine/session_state.h"
#include "ops/causal_pairs.h"

namespace longhaul {

ContextCopy Session::copy_context() const {
  const State& s = *state_;
  const LayerStep::Workspace& work = s.decoder.workspace();
  return {s.tokens, s.store().fork(), s.angles_length, work.seconds + s.taken_seconds};
}

int64_t Session::begin_with(const ContextCopy& copy, std::span<const int32_t> prompt,
                            int64_t instruction) {
  State& s = state_->usable();
  LH_ASSERT(s.tokens.empty());
  if (prompt.empty() || !copy.store.layout().same_rows(s.store().layout())) return 0;
  const auto length = static_cast<int64_t>(prompt.size());
  if (!s.engine->model().config.rope.same_angles(copy.angles_length, length)) return 0;
  const auto [mine, theirs] =
      std::mismatch(prompt.begin(), prompt.end(), copy.tokens.begin(), copy.tokens.end());
  const int64_t read_alike = s.method->dense_prefix({0, length, instruction, s.chunk});
  const int64_t taken = std::min({int64_t{mine - prompt.begin()}, read_alike, length - 1});
  if (taken <= 0) return 0;
  KvStore store = copy.store.fork_as(s.store().layout());
  store.truncate(taken);
  s.streams.front() = std::move(store);
  s.set_angles(length);
  s.tokens.assign(prompt.begin(), prompt.begin() + taken);
  const ModelShape& shape = s.decoder.shape();
  const int64_t pairs = dense_pairs(shape.window, 0, taken);
  const int64_t of_copy = dense_pairs(shape.window, 0, std::ssize(copy.tokens));
  s.taken_pairs = shape.heads * pairs;
  s.taken_seconds =
      copy.attention_seconds * static_cast<double>(pairs) / static_cast<double>(of_copy);
  return taken;
}

}  // namespace longhaul
