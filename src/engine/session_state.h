#pragma once
// The parts of a session, for the sources that work on them. On several devices each of a team
// (base/team.h) has such a state, with the keys and values of its heads: the leader's is the
// session's, and owns its mates'.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/byte_stream.h"
#include "base/crew.h"
#include "base/error.h"
#include "engine/session.h"

namespace longhaul {

struct Session::State {
  State(std::shared_ptr<const Engine> e, const SessionOptions& o);

  /// An empty store and a method without history.
  void reset();

  // These do for one device what a session does (session.h). All devices of a team call them.
  bool read(std::span<const int32_t> text, const PrefillHooks& hooks);
  void read_generated(int32_t token);
  int64_t keep_prefix(std::span<const int32_t> text);
  int64_t take_over(const ContextCopy& copy, std::span<const int32_t> prompt, int64_t instruction);

  /// What a file holds of one device.
  struct RestoredPart {
    std::unique_ptr<AttentionDriver> method;
    KvStore store;
  };
  /// Throws UserError that names the file.
  RestoredPart restore_part(ByteReader& in, int64_t of_tokens, const std::string& name) const;
  void take(RestoredPart part, std::span<const int32_t> text, int64_t length);

  bool leads() const { return options.queue.member() == 0; }
  /// Work of every device, each in a thread of its own: work(state) for the leader and its mates.
  /// Throws what the first that failed threw; where they are no longer at the same text all forget
  /// everything.
  void together(const std::function<void(State&)>& work);
  template <class Work>
  void for_each(Work&& work) const {
    work(*this);
    for (const auto& mate : mates) work(*mate);
  }
  void run_crew(const std::function<void(int member)>& work);
  /// Makes the states of the other devices.
  void call_mates();
  /// Calls check(), which may throw, and throws where any device of the team did: before anything
  /// has changed.
  void all_agree(const std::function<void()>& check);
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
  /// Computes `logits` from the state of one row after the last layer.
  void take_logits(const float* hidden);
  /// Passes that are computed together. False when they were given up half-way: nothing of them is
  /// left then.
  bool run_together(const ForwardPasses& all, const PrefillHooks& hooks);
  /// Hands out the logits of the rows that all passes keep.
  void tell_logits(const ForwardPasses& all, const float* hidden, const PrefillHooks& hooks);
  /// What the method does after a pass, and the tokens that it leaves in the context.
  void follow_up(const ForwardPass& forward);
  /// Reports that `layers` layers of the passes are done.
  void tell(const PrefillHooks& hooks, const ForwardPasses& all, int layers, int64_t total) const;
  /// Whether passes that have not reached all layers can be undone.
  bool can_undo(const ForwardPasses& all) const;
  /// Whether the drivers of all devices can (AttentionDriver::can_rewind).
  bool can_rewind() const { return !options.queue.any_member(!method->can_rewind()); }
  void undo_passes();
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
  int chunk = 0;  ///< rows that are computed together, decided
  Decoder decoder;
  std::unique_ptr<AttentionDriver> method;
  std::vector<KvStore> streams;  ///< [0] is the context; others live while a prompt is read
  std::vector<int32_t> tokens;
  bool to_be_reset = false;   ///< a reset failed: method and streams hold an abandoned context
  int64_t angles_length = 0;  ///< the context length whose angles are in force
  std::vector<float> logits;  ///< [vocab], empty before the first token; the leader's alone count
  Buffer<float> rows_of_logits;
  // Attention of the tokens that begin_with() took over: dense.
  int64_t taken_pairs = 0;
  double taken_seconds = 0;
  MemoryForecast forecast_of_prompt;  ///< the last
  // The leader of a team has these.
  std::vector<std::unique_ptr<State>> mates;
  std::unique_ptr<Crew> crew;
};

}  // namespace longhaul
