#pragma once
// Defines the private members of Sequence. Only the source files that implement Sequence include
// this header. If the model's heads are split over several devices (base/communicator.h), each
// device is a rank and has a State with the keys and values of its heads. The State of rank 0 (the
// root) belongs to the Sequence and owns the States of the other ranks.

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

  /// Removes all tokens: creates an empty store and a new method.
  void reset();
  std::unique_ptr<State> clone() const;

  // Implementations of reuse_prefix() and begin_with() for one rank:
  int64_t keep_prefix(std::span<const int32_t> text);
  int64_t take_over(const ContextCopy& copy, std::span<const int32_t> prompt, int64_t instruction,
                    int64_t most);

  /// The data of one rank in a session file.
  struct RestoredPart {
    std::unique_ptr<AttentionDriver> method;
    KvStore store;
    RecurrentState recurrent;
  };
  /// Reads the data of one rank. Throws a UserError that names the file if the data is invalid.
  RestoredPart restore_part(ByteReader& in, int64_t of_tokens, const std::string& name,
                            const State* parent, int64_t parent_tokens) const;
  void load(const std::filesystem::path& file, const State* parent);
  void save(const std::filesystem::path& file, const SessionParent* parent) const;
  /// Replaces the contents of this state by `part` and `text`. `length` is the context length for
  /// which RoPE angles are computed.
  void take(RestoredPart part, std::span<const int32_t> text, int64_t length);

  bool is_root() const { return options.queue.rank() == 0; }
  /// Calls work(state) for the states of all ranks at the same time, in a thread per rank. Rethrows
  /// the first exception. If the states then have different tokens, all of them are reset.
  void together(const std::function<void(State&)>& work);
  /// Calls work(state) for the states of all ranks, one after another.
  template <class Work>
  void for_each(Work&& work) const {
    work(*this);
    for (const auto& mate : peers) work(*mate);
  }
  /// Returns the state of a rank. Only the root has the states of other ranks.
  State& of_member(int member) { return member == 0 ? *this : *nth(peers, member - 1); }
  const State& of_member(int member) const { return member == 0 ? *this : *nth(peers, member - 1); }
  void run_workers(const std::function<void(int member)>& work);
  /// Calls check(), which may throw. All ranks call this function, before any change of their
  /// states. If check() threw in one of the ranks, the function throws in every rank.
  void all_agree(const std::function<void()>& check);
  KvStore make_store(const AttentionDriver& for_method) const;
  RecurrentState make_recurrent() const;
  /// Computes the RoPE angles for a context of `tokens_in_all` tokens.
  void set_angles(int64_t tokens_in_all);
  /// Returns the memory forecast for `new_tokens` more tokens and a reply. Throws UserError if they
  /// exceed SessionOptions::context or the memory limit.
  MemoryForecast check_fits(int64_t new_tokens, int64_t reply) const;
  size_t memory_limit() const;
  /// Throws a UserError if the forecast exceeds the memory limit. Its message begins with `what`
  /// and ends with `advice`.
  void check_memory(const MemoryForecast& need, const std::string& what,
                    std::string_view advice) const;
  size_t kv_forecast(int64_t new_tokens, int64_t reply) const;
  MemoryForecast forecast(int64_t new_tokens, int64_t reply = 0) const;
  /// Throws UserError if the token is unknown or the context is full.
  void check_decode(int32_t token) const;
  /// Returns the pass that processes a generated token. The pass keeps a pointer to `token`.
  ForwardPass decoded(const int32_t& token) const {
    return {.tokens = {&token, 1},
            .position = std::ssize(tokens),
            .pass = {.count = 1, .phase = Phase::kDecode}};
  }
  /// Returns the input of the decoder for some passes of this sequence.
  SequenceRows rows_of(std::span<const ForwardPass> passes) {
    return {passes, streams, method.get(), &shape, &record, &recurrent};
  }
  /// Computes `logits` from the hidden state of one row after the last layer. Throws UserError if a
  /// logit is not finite.
  void take_logits(Decoder& decoder, const float* hidden) {
    logits.resize(static_cast<size_t>(engine->model().config.vocab));
    if (!is_root()) return;
    decoder.logits(hidden, 1, logits.data());
    expect_finite_logits(logits);
  }
  /// Ends a pass that all layers have computed: evicts rows if this is due, commits recurrent
  /// states, and adds the tokens of the pass to the sequence.
  void finish_pass(const ForwardPass& forward);
  /// Returns whether a group of passes can be undone before all layers have computed it.
  bool can_undo(std::span<const ForwardPass> group) const;
  void undo_group();
  /// Returns whether the drivers of all ranks can rewind (AttentionDriver::can_rewind).
  bool can_rewind() const { return !options.queue.any_member(!method->can_rewind()); }
  /// Calls passes(), which computes passes. If it throws, some layers already store the rows of a
  /// pass and others do not. The state is therefore reset. If the reset also throws, usable()
  /// repeats it later.
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
  /// Returns this state. If the last reset() threw, calls reset() again first.
  State& usable() {
    if (to_be_reset) reset();
    return *this;
  }
  KvStore& store() { return streams.front(); }
  const KvStore& store() const { return streams.front(); }
  void drop_other_streams() { streams.erase(streams.begin() + 1, streams.end()); }

  std::shared_ptr<const Engine> engine;
  SessionOptions options;
  int chunk = 0;     ///< result of chunk_of()
  ModelShape shape;  ///< shape of the model, with the current RoPE angles
  std::unique_ptr<AttentionDriver> method;
  std::vector<KvStore> streams;  ///< KV stores; [0] has the context, others exist only in prefill
  RecurrentState recurrent;
  std::vector<int32_t> tokens;
  /// Whether the last reset() threw, so that method and streams are invalid.
  bool to_be_reset = false;
  /// Context length for which the current RoPE angles were computed.
  int64_t angles_length = 0;
  std::vector<float> logits;  ///< [vocab]; empty before the first token; valid only in rank 0
  AttentionRecord record;
  // Work of dense attention for the tokens that begin_with() copied: number of (row, query head,
  // key) triples, and seconds.
  int64_t taken_pairs = 0;
  double taken_seconds = 0;
  MemoryForecast forecast_of_prompt;  ///< forecast for the last prompt
  // The states of the other ranks and one thread per rank. Only rank 0 has them, and only if
  // several devices share the model.
  std::vector<std::unique_ptr<State>> peers;
  std::shared_ptr<WorkerGroup> workers;
};

}  // namespace longhaul
