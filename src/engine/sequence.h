#pragma once
// Sequence holds the tokens of one conversation, their keys and values, and the state of the
// attention method. It holds no activations. A ModelRunner (model_runner.h) processes tokens for a
// sequence. Many sequences can share one runner.

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
  Queue queue;  ///< the host by default; the queue of rank 0 if several devices share the model
  KvType kv_type;
  Compute compute = Compute::kBest;
  /// Largest number of tokens of a prompt that are computed together. If it is 0, chunk_of() sets
  /// it.
  int chunk = 0;
  int64_t context = 0;      ///< largest number of tokens in the sequence (`--ctx`); 0: no limit
  size_t memory_limit = 0;  ///< bytes; 0: the free memory of the machine
  /// Number of tokens between two stored copies of the state of recurrent layers (`--state-every`);
  /// 0: no copies are stored.
  int64_t state_every = kStateEvery;
  int at_a_time = 1;  ///< number of sequences like this one that share the memory limit
};

/// Returns the largest number of tokens of a prompt that are computed together, in one or several
/// passes. This is `asked` (SessionOptions::chunk), or if that is 0, the larger one of the method's
/// preferred number and the default. The default is larger on a GPU, because the cost of expanding
/// quantized weights does not depend on the number of tokens.
int chunk_of(int asked, const AttentionDriver& method, const Queue& queue = {});

/// Memory in bytes that a prompt will need, forecast before the prompt is processed.
struct MemoryForecast {
  size_t weights = 0;  ///< memory-mapped weights
  size_t kv = 0;       ///< keys, values and the method's index
  size_t working = 0;  ///< activations and expanded weights
  size_t process = 0;  ///< memory of the process itself (Engine::process_bytes)
  size_t others = 0;   ///< KV and working memory of other sequences of this process
  size_t total() const { return weights + kv + working + process + others; }
};

/// Measured values of a sequence.
struct SessionReport {
  int64_t tokens = 0;
  int64_t live_rows = 0;  ///< number of stored rows in all lists (one per token, layer and KV head)
  size_t kv_bytes = 0;    ///< bytes of keys, values and the method's index in memory
  /// Number of (row, query head, key) triples for which attention was computed, divided by the
  /// number for dense attention.
  double pairs_share = 1.0;
  double attention_seconds = 0;  ///< seconds in attention since the sequence began
  MemoryForecast forecast;       ///< memory forecast for the last prompt and its reply
};

/// Returns whether the file exists and begins like a file that Sequence::save() wrote.
bool is_session_file(const std::filesystem::path& file);

/// A parent session file. A child session file omits the rows of its first tokens if the parent
/// file contains them (Sequence::save_after).
struct SessionParent {
  /// Number of first tokens whose rows are only in the parent file; 0: there is no parent.
  int64_t tokens = 0;
  std::string name;  ///< name of the parent file, or facts without one (session_about.h)
};

/// A copy of a sequence's tokens, keys and values after dense prefill, from which other sequences
/// can begin (Sequence::begin_with()).
struct ContextCopy {
  std::vector<int32_t> tokens;
  std::vector<KvStore> stores;  ///< one per device if several devices share the model
  RecurrentState recurrent;     ///< empty for a model without recurrent layers
  /// Context length for which the RoPE angles of the keys were computed.
  int64_t angles_length = 0;
  double attention_seconds = 0;

  /// Returns the size in bytes on one device.
  size_t bytes() const { return stores.front().bytes() + recurrent.bytes(); }
};

class Sequence {
 public:
  static constexpr int64_t kAllTokens = int64_t{1} << 60;

  /// Creates an empty sequence. Throws UserError if the attention method rejects the model, or a
  /// file that its options name.
  Sequence(std::shared_ptr<const Engine> engine, const SessionOptions& options);
  ~Sequence();
  Sequence(Sequence&&) noexcept;
  Sequence& operator=(Sequence&&) noexcept;

  /// Returns a second sequence with the same contents. Both sequences then give bitwise equal
  /// results for equal tokens. They share pages of keys and values until one of them writes. If a
  /// prompt is being prefilled, the clone contains only the finished passes, as after a cancelled
  /// prefill.
  Sequence clone() const;

  const Engine& engine() const;
  const SessionOptions& options() const;
  int chunk() const;  ///< returns the result of chunk_of()
  const AttentionDriver& method() const;
  std::span<const int32_t> tokens() const;  ///< returns the processed tokens
  /// Returns the logits [vocab] after the last token, on the host. The span is empty before the
  /// first token and after a cancelled prefill.
  std::span<const float> logits() const;
  const KvStore& store() const;
  SessionReport report() const;
  /// The following functions return single values of report(). kv_bytes() and attention_seconds()
  /// are fast. pairs_share() waits for the device if the method lets the device select keys.
  size_t kv_bytes() const;
  double pairs_share() const;
  double attention_seconds() const;

  /// Returns the peak size in bytes of keys, values and the method's index while `tokens` more
  /// tokens and a reply of up to `reply` tokens are processed. The buffers of a runner are not
  /// included (ModelRunner::working_bytes()).
  size_t kv_forecast(int64_t tokens, int64_t reply) const;
  /// Returns the size in bytes of the memory that becomes free when this sequence is destroyed:
  /// pages that no other sequence shares, recurrent states, and the method's index.
  size_t own_bytes() const;
  /// Returns the memory needed to process `tokens` more tokens and a reply of up to `reply` tokens,
  /// including the weights and the buffers of a runner.
  MemoryForecast forecast(int64_t tokens, int64_t reply = 0) const;
  /// Throws UserError if `tokens` more tokens and a reply of up to `reply` tokens do not fit in the
  /// context (SessionOptions::context) or the memory limit.
  void check_room(int64_t tokens, int64_t reply) const;
  /// Returns whether `tokens` more tokens and a reply of up to `reply` tokens fit in the memory
  /// limit, if each of the SessionOptions::at_a_time sequences needs `others` further bytes.
  bool has_room(int64_t tokens, int64_t reply, size_t others) const;

  /// Returns the number of bytes that the process may use: SessionOptions::memory_limit, or if that
  /// is 0, the free memory plus the memory that the weights and keys of this process already use.
  size_t memory_limit() const;

  /// Removes all tokens.
  void reset();
  /// Makes copies of all pages that are shared with other sequences. Measurements of memory and
  /// speed use this function.
  void unshare_pages();
  /// Prepares this sequence for the prompt `tokens`: keeps the longest common prefix of both, and
  /// removes all later tokens. Returns the number of kept tokens. The caller must prefill the rest
  /// of the prompt. If the whole prompt is kept, logits() are valid.
  ///
  /// If the method cannot rewind to the prefix, all tokens are removed. All tokens are also removed
  /// if the model scales its RoPE angles by the context length, and the angles for tokens.size()
  /// tokens differ from the current ones. If the model has recurrent layers, the prefix is
  /// shortened to the last stored copy of their state.
  int64_t reuse_prefix(std::span<const int32_t> tokens);
  /// Removes the tokens from `length` on. Requires that AttentionDriver::can_rewind() is true and
  /// that the model has no recurrent layers. If tokens are removed, logits() become empty.
  void truncate(int64_t length);
  /// Frees the memory of logits(), which become empty.
  void drop_logits();

  /// Returns a copy of the contents of this sequence, whose method must be dense attention. The
  /// copy shares pages with the sequence.
  ContextCopy copy_context() const;
  /// Copies the common prefix of `copy` and `prompt` with its keys and values into this sequence,
  /// which must be empty. Returns the number of copied tokens, which is at most `most` and below
  /// prompt.size(). The caller must prefill the rest of the prompt. Only tokens are copied that the
  /// method of this sequence would process exactly like dense attention
  /// (AttentionDriver::dense_prefix). `copy` must come from the same engine with the same KV type,
  /// compute type and chunk.
  int64_t begin_with(const ContextCopy& copy, std::span<const int32_t> prompt,
                     int64_t instruction = 0, int64_t most = kAllTokens);

  /// Writes a session file with the tokens, the KV store and the state of the method. The file also
  /// identifies the model, the method with its options, and the KV type. sequence_file.cc describes
  /// its format.
  void save(const std::filesystem::path& file) const;
  /// Replaces the contents of this sequence by those of a session file. Throws UserError, without
  /// changes, if the file is invalid, was written with another model or other settings, or exceeds
  /// the memory limit.
  void load(const std::filesystem::path& file);
  /// Writes a session file like save(), but without the rows of the first parent.tokens tokens,
  /// which are in the parent file. The file (format version 10) also holds the chunk, the resume
  /// group (attention/resume_rule.h) and the name of the parent. can_leave_out() must be true.
  void save_after(const std::filesystem::path& file, const SessionParent& parent) const;
  /// Returns whether rows that are in a parent file can be omitted from a session file. This
  /// requires that no row was evicted and that no selection of keys depended on later tokens.
  bool can_leave_out() const;
  /// Loads a file that save_after() wrote. `parent` must contain at least the tokens whose rows are
  /// only in the parent file.
  void load_after(const std::filesystem::path& file, const Sequence& parent);

  /// Sets a function that is called before every attention call of this sequence
  /// (AttentionObserver). Analyses use it.
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
