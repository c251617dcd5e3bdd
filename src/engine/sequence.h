#pragma once
// Sequence holds the tokens of one conversation with their keys and values, and the state of the
// attention method. It has no activations. A ModelRunner (model_runner.h) computes it, and many
// sequences share one runner.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "attention/driver.h"
#include "attention/method_spec.h"
#include "engine/engine.h"
#include "kv/kv_store.h"
#include "kv/recurrent_state.h"
#include "ops/core/compute.h"

namespace longhaul {

/// Settings of a sequence.
struct SessionOptions {
  MethodSpec attention = MethodSpec::parse("dense");
  Queue queue;  ///< the host by default; if several devices share the model, the queue of rank 0
  KvType kv_type;
  Compute compute = Compute::kBest;
  /// Largest number of rows of a prompt that are computed together; 0: chunk_of() decides.
  int chunk = 0;
  int64_t context = 0;      ///< largest number of tokens in the sequence (`--ctx`); 0: no limit
  size_t memory_limit = 0;  ///< bytes; 0: the free memory of the machine
  /// Number of tokens between two stored states of recurrent layers (`--state-every`). 0: no states
  /// are stored.
  int64_t state_every = kStateEvery;
  int at_a_time = 1;  ///< number of equal sequences of this process that share the memory limit
};

/// Returns the number of rows of a prompt that are computed together, in one or several passes. If
/// `asked` is 0, the result is the number that the method prefers, or else the default. The default
/// is larger on a GPU, where expanding quantized weights costs the same for any number of rows.
int chunk_of(int asked, const AttentionDriver& method, const Queue& queue = {});

/// Bytes that a prompt will need. They are forecast before the prompt is processed.
struct MemoryForecast {
  size_t weights = 0;  ///< mapped weights, which are read from disk on demand
  size_t kv = 0;       ///< keys and values, with the method's index
  size_t working = 0;  ///< activations, and expanded weights
  size_t process = 0;  ///< bytes of the process itself (Engine::process_bytes)
  size_t others = 0;   ///< KV and working memory of other sequences
  size_t total() const { return weights + kv + working + process + others; }
};

/// Measured values of a sequence.
struct SessionReport {
  int64_t tokens = 0;
  int64_t live_rows = 0;  ///< number of (token, layer, KV head) rows that are kept
  size_t kv_bytes = 0;    ///< KV bytes in memory, with the method's index
  /// The number of computed (row, query head, key) triples, divided by the number of dense
  /// attention.
  double pairs_share = 1.0;
  double attention_seconds = 0;  ///< seconds in attention since the sequence began
  MemoryForecast forecast;       ///< forecast for the last prompt and its reply
};

/// Returns whether the file exists and begins like a file of Sequence::save().
bool is_session_file(const std::filesystem::path& file);

/// A session file that holds the first rows of another session file. The other file omits these
/// rows (Sequence::save_after).
struct SessionParent {
  /// Number of tokens that the other file takes from this one; 0: there is no parent.
  int64_t tokens = 0;
  std::string name;  ///< name of the parent file, for messages
};

/// Tokens with their keys and values after dense prefill, and the cost of this prefill.
struct ContextCopy {
  std::vector<int32_t> tokens;
  std::vector<KvStore> stores;  ///< one per device if several devices share the model
  RecurrentState recurrent;     ///< empty for a model without recurrent layers
  int64_t angles_length = 0;    ///< length of the context for which the keys were rotated
  double attention_seconds = 0;

  /// Returns the bytes on one device.
  size_t bytes() const { return stores.front().bytes() + recurrent.bytes(); }
};

class Sequence {
 public:
  static constexpr int64_t kAllTokens = int64_t{1} << 60;

  /// Creates an empty sequence. Throws UserError if the method rejects the model or one of its
  /// files.
  Sequence(std::shared_ptr<const Engine> engine, const SessionOptions& options);
  ~Sequence();
  Sequence(Sequence&&) noexcept;
  Sequence& operator=(Sequence&&) noexcept;

  /// Returns a second sequence with the same contents. From then on, both yield bitwise equal
  /// results for equal tokens. They share pages of keys and values until one of them writes. If a
  /// prompt is being prefilled, the clone contains only the finished passes, as after a cancelled
  /// prefill.
  Sequence clone() const;

  const Engine& engine() const;
  const SessionOptions& options() const;
  int chunk() const;  ///< returns the largest number of rows of a prompt that are computed together
  const AttentionDriver& method() const;
  std::span<const int32_t> tokens() const;  ///< returns the processed tokens
  /// Returns the logits [vocab] after the last token, on the host. They are empty before the first
  /// token and after a cancelled prefill.
  std::span<const float> logits() const;
  const KvStore& store() const;
  SessionReport report() const;
  /// The following functions return single values of report(). kv_bytes() and attention_seconds()
  /// are fast. pairs_share() waits for the device if the method lets the device select keys.
  size_t kv_bytes() const;
  double pairs_share() const;
  double attention_seconds() const;

  /// Returns the peak size in bytes of keys and values, with the method's index, while `tokens`
  /// more tokens and a reply of up to `reply` tokens are processed. The memory of a runner is not
  /// included (ModelRunner::working_bytes()).
  size_t kv_forecast(int64_t tokens, int64_t reply) const;
  /// Returns the bytes that are freed with this sequence: the pages that no other sequence shares,
  /// and the method's index.
  size_t own_bytes() const;
  /// Returns the bytes needed to process `tokens` more tokens and a reply of up to `reply` tokens.
  /// Weights and a runner for this sequence are included.
  MemoryForecast forecast(int64_t tokens, int64_t reply = 0) const;
  /// Throws UserError if `tokens` more tokens and a reply of up to `reply` tokens do not fit in the
  /// context (SessionOptions::context) or the memory limit.
  void check_room(int64_t tokens, int64_t reply) const;
  /// Returns whether `tokens` more tokens and a reply of up to `reply` tokens fit in the memory
  /// limit, while the process uses `others` bytes for other purposes.
  bool has_room(int64_t tokens, int64_t reply, size_t others) const;

  /// Returns the bytes that the process may use. It is SessionOptions::memory_limit, or else the
  /// free memory plus the memory that weights and keys of this process already use.
  size_t memory_limit() const;

  /// Removes all tokens.
  void reset();
  /// Copies all pages that are shared with other sequences. Measurements use it.
  void unshare_pages();
  /// Keeps the longest common prefix of `tokens` and this sequence, and removes all later tokens.
  /// Returns the number of tokens kept. The caller prefills the rest. If all of `tokens` are kept,
  /// logits() are valid.
  ///
  /// If the method cannot rewind to the prefix, the sequence is reset. It is also reset if RoPE
  /// angles depend on the length of the context and would differ for tokens.size() tokens.
  /// Recurrent layers go back to their last stored state before the end of the prefix.
  int64_t reuse_prefix(std::span<const int32_t> tokens);
  /// Removes the tokens from `length` on. This requires that the method can rewind
  /// (AttentionDriver::can_rewind) and that the model has no recurrent layers. If tokens were
  /// removed, logits() are empty afterwards.
  void truncate(int64_t length);
  /// Frees the memory of logits().
  void drop_logits();

  /// Returns the contents of a sequence with dense attention. The copy shares the pages of the
  /// sequence.
  ContextCopy copy_context() const;
  /// Copies the first tokens of `prompt` from `copy` into this sequence, which must be empty.
  /// Returns the number of copied tokens, at most prompt.size() - 1. The caller prefills the rest.
  /// Only tokens are copied that the method of this sequence would process exactly as dense
  /// attention does (AttentionDriver::dense_prefix), and at most `most`. The copy must come from
  /// the same engine with the same KV type, compute type and chunk.
  int64_t begin_with(const ContextCopy& copy, std::span<const int32_t> prompt,
                     int64_t instruction = 0, int64_t most = kAllTokens);

  /// Writes the tokens, the store and the state of the method to a file. The file also identifies
  /// the model, the method and the types. sequence_file.cc describes the layout.
  void save(const std::filesystem::path& file) const;
  /// Replaces the contents of this sequence by those of a file. Throws UserError if the file
  /// belongs to other settings or exceeds the memory limit; the sequence is then unchanged.
  void load(const std::filesystem::path& file);
  /// Writes a file like save(), but without the rows of the first parent.tokens tokens (version
  /// 10). The file also holds the chunk, the resume group and the parent. can_leave_out() must be
  /// true.
  void save_after(const std::filesystem::path& file, const SessionParent& parent) const;
  /// Returns whether a parent's rows can be omitted, because no row was evicted and no selection
  /// depended on later tokens.
  bool can_leave_out() const;
  /// Loads a file of save_after(). `parent` must contain at least the tokens that the file takes
  /// from its parent.
  void load_after(const std::filesystem::path& file, const Sequence& parent);

  /// Sets a function that is called with the tasks of every attention call. Analyses use it.
  void observe(AttentionObserver observer);

 private:
  friend class ModelRunner;
  friend class Prefill;
  friend class SequenceCopy;
  struct State;
  explicit Sequence(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace longhaul
