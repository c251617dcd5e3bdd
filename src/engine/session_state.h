#pragma once
// The parts of a session, for the two sources that work on them.

#include <memory>
#include <vector>

#include "base/buffer.h"
#include "engine/session.h"

namespace longhaul {

struct Session::State {
  State(std::shared_ptr<const Engine> e, const SessionOptions& o);

  /// An empty store and a method without history.
  void reset();
  KvStore make_store(const AttentionMethod& for_method) const;
  void check_fits(int64_t new_tokens) const;
  MemoryForecast forecast(int64_t new_tokens) const;
  void run_pass(std::span<const int32_t> prompt, int64_t prompt_begin, const Pass& pass, bool last,
                const PrefillHooks& hooks);

  std::shared_ptr<const Engine> engine;
  SessionOptions options;
  int chunk;  ///< rows of a pass, decided
  Decoder decoder;
  std::unique_ptr<AttentionMethod> method;
  std::unique_ptr<KvStore> store;
  std::vector<int32_t> tokens;
  std::vector<float> logits;  ///< [vocab], empty before the first token
  Buffer<float> rows_of_logits;
};

}  // namespace longhaul
