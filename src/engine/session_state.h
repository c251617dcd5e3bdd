#pragma once
// The parts of a session, for the two sources that work on them.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "engine/session.h"

namespace longhaul {

struct Session::State {
  State(std::shared_ptr<const Engine> e, const SessionOptions& o);

  /// An empty store and a method without history.
  void reset();
  KvStore make_store(const AttentionDriver& for_method) const;
  /// Takes the angles of a context of this many tokens.
  void set_angles(int64_t tokens_in_all);
  /// Throws UserError where that is more than the context or the memory limit allows.
  MemoryForecast check_fits(int64_t new_tokens, int64_t reply) const;
  size_t memory_limit() const;
  /// Throws UserError, "WHAT need ...; try ADVICE", when that is more than the memory limit.
  void check_memory(const MemoryForecast& need, const std::string& what,
                    std::string_view advice) const;
  MemoryForecast forecast(int64_t new_tokens, int64_t reply = 0) const;
  /// Runs the passes of a prompt whose first token stands at `begin`. False when cancelled.
  bool run_passes(std::span<const int32_t> prompt, int64_t begin, std::span<const Pass> passes,
                  const PrefillHooks& hooks);
  /// False when it was given up half-way: nothing of it is left then.
  bool run_pass(const ForwardPass& forward, const PrefillHooks& hooks);
  /// Whether a pass that has not reached all layers can be undone.
  bool can_undo(const Pass& pass) const;
  void undo_pass();
  /// Runs `passes`. An exception leaves some layers with a pass's rows and some without, which is
  /// no valid context, so everything is forgotten then. Should even that fail, a later call tries
  /// again.
  template <class Passes>
  bool whole_or_nothing(Passes&& passes) {
    try {
      return passes();
    } catch (...) {
      try {
        reset();
      } catch (const UserError&) {  // the first error is the one to tell
      }
      throw;
    }
  }
  /// This state, after another attempt at a reset where the last one failed.
  State& usable() {
    if (to_be_reset) reset();
    return *this;
  }
  KvStore& store() { return streams.front(); }
  const KvStore& store() const { return streams.front(); }
  void drop_other_streams() { streams.erase(streams.begin() + 1, streams.end()); }

  std::shared_ptr<const Engine> engine;
  SessionOptions options;
  int chunk = 0;  ///< rows of a pass, decided
  Decoder decoder;
  std::unique_ptr<AttentionDriver> method;
  std::vector<KvStore> streams;  ///< [0] is the context; others live while a prompt is read
  std::vector<int32_t> tokens;
  bool to_be_reset = false;   ///< a reset failed: method and streams hold an abandoned context
  int64_t angles_length = 0;  ///< the context length whose angles are in force
  std::vector<float> logits;  ///< [vocab], empty before the first token
  Buffer<float> rows_of_logits;
  // Attention of the tokens that begin_with() took over: dense.
  int64_t taken_pairs = 0;
  double taken_seconds = 0;
  MemoryForecast forecast_of_prompt;  ///< the last
};

}  // namespace longhaul
