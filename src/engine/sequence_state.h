#pragma once
// The parts of a sequence, for the sources that work on them. On several devices each member of a
// team (base/communicator.h) has such a state, with the keys and values of its heads. The leader's
// state is the sequence's own, and it owns the states of the other members.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_stream.h"
#include "base/error.h"
#include "engine/damaged_weights.h"
#include "engine/sequence.h"
#include "engine/team_crew.h"
#include "model/decoder.h"

namespace longhaul {

struct Sequence::State {
  State(std::shared_ptr<const Engine> e, const SessionOptions& o);

  /// Makes an empty store and a method without history.
  void reset();
  std::unique_ptr<State> clone() const;

  // The parts of Sequence's functions that every device of a team runs.
  int64_t keep_prefix(std::span<const int32_t> text);
  int64_t take_over(const ContextCopy& copy, std::span<const int32_t> prompt, int64_t instruction,
                    int64_t most);

  /// The part of a session file that belongs to one device.
  struct RestoredPart {
    std::unique_ptr<AttentionDriver> method;
    KvStore store;
    RecurrentState recurrent;
  };
  /// Throws UserError that names the file.
  RestoredPart restore_part(ByteReader& in, int64_t of_tokens, const std::string& name,
                            const State* parent, int64_t parent_tokens) const;
  void load(const std::filesystem::path& file, const State* parent);
  void save(const std::filesystem::path& file, const SessionParent* parent) const;
  void take(RestoredPart part, std::span<const int32_t> text, int64_t length);

  bool is_root() const { return options.queue.rank() == 0; }
  /// Calls work(state) for the leader and the other members, each in a thread of its own. Rethrows
  /// the first exception. If the states no longer have the same text after that, all of them are
  /// reset.
  void together(const std::function<void(State&)>& work);
  template <class Work>
  void for_each(Work&& work) const {
    work(*this);
    for (const auto& mate : peers) work(*mate);
  }
  /// The state of a member of the team; this is the leader.
  State& of_member(int member) { return member == 0 ? *this : *nth(peers, member - 1); }
  const State& of_member(int member) const { return member == 0 ? *this : *nth(peers, member - 1); }
  void run_workers(const std::function<void(int member)>& work);
  /// Calls check(), which may throw. Throws if it threw for any device of the team. Call it before
  /// any change.
  void all_agree(const std::function<void()>& check);
  KvStore make_store(const AttentionDriver& for_method) const;
  RecurrentState make_recurrent() const;
  /// Sets the RoPE angles of a context of this many tokens.
  void set_angles(int64_t tokens_in_all);
  /// Throws UserError if that is more than the context or the memory limit allows.
  MemoryForecast check_fits(int64_t new_tokens, int64_t reply) const;
  size_t memory_limit() const;
  /// Throws UserError, "WHAT need ...; try ADVICE", if the forecast exceeds the memory limit.
  void check_memory(const MemoryForecast& need, const std::string& what,
                    std::string_view advice) const;
  size_t kv_forecast(int64_t new_tokens, int64_t reply) const;
  MemoryForecast forecast(int64_t new_tokens, int64_t reply = 0) const;
  /// Throws UserError if the token is unknown or the context is full.
  void check_decode(int32_t token) const;
  /// The pass that reads a generated token, which must stay in place.
  ForwardPass decoded(const int32_t& token) const {
    return {.tokens = {&token, 1},
            .position = std::ssize(tokens),
            .pass = {.count = 1, .phase = Phase::kDecode}};
  }
  /// The rows of `passes` as the decoder reads them.
  SequenceRows rows_of(std::span<const ForwardPass> passes) {
    return {passes, streams, method.get(), &shape, &record, &recurrent};
  }
  /// Computes `logits` from the state of one row after the last layer. Throws UserError if one is
  /// not finite.
  void take_logits(Decoder& decoder, const float* hidden) {
    logits.resize(static_cast<size_t>(engine->model().config.vocab));
    if (!is_root()) return;
    decoder.logits(hidden, 1, logits.data());
    expect_finite_logits(logits);
  }
  /// Calls the method at the end of a pass, and adds the pass's tokens to the sequence.
  void finish_pass(const ForwardPass& forward);
  /// Whether passes that have not reached all layers can be undone.
  bool can_undo(std::span<const ForwardPass> group) const;
  void undo_group();
  /// Whether the drivers of all devices can rewind (AttentionDriver::can_rewind).
  bool can_rewind() const { return !options.queue.any_member(!method->can_rewind()); }
  /// Runs `passes`. An exception leaves some layers with the rows of a pass and some without them,
  /// so everything is forgotten then. If the reset fails as well, a later call tries again.
  template <class Passes>
  auto whole_or_nothing(Passes&& passes) {
    try {
      return passes();
    } catch (...) {
      try {
        reset();
      } catch (const UserError&) {  // the first error is reported
      }
      throw;
    }
  }
  /// This state, after another attempt at a reset if the last one failed.
  State& usable() {
    if (to_be_reset) reset();
    return *this;
  }
  KvStore& store() { return streams.front(); }
  const KvStore& store() const { return streams.front(); }
  void drop_other_streams() { streams.erase(streams.begin() + 1, streams.end()); }

  std::shared_ptr<const Engine> engine;
  SessionOptions options;
  int chunk = 0;     ///< rows that are computed together, after chunk_of()
  ModelShape shape;  ///< with the current angles
  std::unique_ptr<AttentionDriver> method;
  std::vector<KvStore> streams;  ///< [0] is the context; others live while a prompt is read
  RecurrentState recurrent;
  std::vector<int32_t> tokens;
  bool to_be_reset = false;   ///< a reset failed: method and streams hold an abandoned context
  int64_t angles_length = 0;  ///< the context length of the current angles
  std::vector<float> logits;  ///< [vocab], empty before the first token; the leader's are valid
  AttentionRecord record;
  // The cost of the tokens that begin_with() copied: dense attention.
  int64_t taken_pairs = 0;
  double taken_seconds = 0;
  MemoryForecast forecast_of_prompt;  ///< forecast for the last prompt
  // Only the leader of a team has these.
  std::vector<std::unique_ptr<State>> peers;
  std::shared_ptr<WorkerGroup> workers;
};

}  // namespace longhaul
