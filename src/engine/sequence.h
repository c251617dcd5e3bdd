#pragma once
// A sequence: the tokens of one conversation with their keys and values and the state of the
// attention method. A sequence has no activations: a ModelRunner (model_runner.h) computes, and
// many sequences share one.

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

struct SessionOptions {
  MethodSpec attention = MethodSpec::parse("dense");
  Queue queue;  ///< the host by default; for a team the queue of its leader
  KvType kv_type;
  Compute compute = Compute::kBest;
  int chunk = 0;            ///< rows that are computed together; 0: chunk_of() decides
  int64_t context = 0;      ///< most tokens that the sequence may hold (`--ctx`); 0: no limit
  size_t memory_limit = 0;  ///< bytes; 0: the free memory of the machine
  /// Tokens between two stored states of recurrent layers (`--state-every`); 0: none are stored.
  int64_t state_every = kStateEvery;
  int at_a_time = 1;  ///< number of equal sequences of this process that share the limit
};

/// Number of rows of a prompt that are computed together, in one pass or several: `asked`, or if
/// that is 0 the method's preference or the default. The default is larger on a GPU, where the cost
/// of expanding quantized weights does not depend on the number of rows.
int chunk_of(int asked, const AttentionDriver& method, const Queue& queue = {});

/// Bytes that a prompt will need, forecast before it is read.
struct MemoryForecast {
  size_t weights = 0;  ///< mapped; read from disk on demand
  size_t kv = 0;
  size_t working = 0;  ///< activations and expanded weights of rows that are computed together
  size_t process = 0;  ///< Engine::process_bytes
  size_t others = 0;   ///< keys and values, and working memory, of other sequences
  size_t total() const { return weights + kv + working + process + others; }
};

struct SessionReport {
  int64_t tokens = 0;
  int64_t live_rows = 0;         ///< kept (token, layer, KV head) rows
  size_t kv_bytes = 0;           ///< in memory, with the method's index
  double pairs_share = 1.0;      ///< computed attention pairs, relative to dense attention
  double attention_seconds = 0;  ///< seconds since the sequence began
  MemoryForecast forecast;       ///< forecast for the last prompt and its reply
};

/// Whether the file exists and begins like a file of Sequence::save().
bool is_session_file(const std::filesystem::path& file);

/// The session file that has the first rows of another one.
struct SessionParent {
  int64_t tokens = 0;  ///< its first tokens; 0: there is no parent
  std::string name;    ///< the file's name, for messages
};

/// Tokens with their keys and values after dense prefill, and the cost of that prefill.
struct ContextCopy {
  std::vector<int32_t> tokens;
  std::vector<KvStore> stores;  ///< one per device of a team
  RecurrentState recurrent;     ///< empty for a model without recurrent layers
  int64_t angles_length = 0;    ///< the context length whose RoPE angles the keys have
  double attention_seconds = 0;

  size_t bytes() const { return stores.front().bytes() + recurrent.bytes(); }  ///< on one device
};

class Sequence {
 public:
  static constexpr int64_t kAllTokens = int64_t{1} << 60;

  /// An empty sequence. Throws UserError if the method refuses the model or one of its files.
  Sequence(std::shared_ptr<const Engine> engine, const SessionOptions& options);
  ~Sequence();
  Sequence(Sequence&&) noexcept;
  Sequence& operator=(Sequence&&) noexcept;

  /// A second sequence with the same contents. Both continue bit-identically. Pages of keys and
  /// values are shared until one of the two writes. While a prompt is being prefilled, the clone
  /// has the passes that are finished, as after a cancelled prefill.
  Sequence clone() const;

  const Engine& engine() const;
  const SessionOptions& options() const;
  int chunk() const;  ///< rows of a prompt that are computed together
  const AttentionDriver& method() const;
  std::span<const int32_t> tokens() const;  ///< tokens that were read so far
  /// Logits [vocab] after the last token, on the host. They are empty before the first token and
  /// after a cancelled prefill.
  std::span<const float> logits() const;
  const KvStore& store() const;
  SessionReport report() const;

  /// Most bytes of keys and values, with the method's index, while `tokens` more tokens and a reply
  /// of up to `reply` are read. These are the bytes of the sequence itself; those of a runner are
  /// ModelRunner::working_bytes().
  size_t kv_forecast(int64_t tokens, int64_t reply) const;
  /// Bytes that are freed with this sequence: pages without other owners, and the method's index.
  size_t own_bytes() const;
  /// Bytes needed in all, with weights and a runner for the sequence alone, to read `tokens` more
  /// tokens and a reply of up to `reply`.
  MemoryForecast forecast(int64_t tokens, int64_t reply = 0) const;
  /// Throws UserError if `tokens` more tokens and a reply of up to `reply` do not fit into
  /// `context` or the memory limit.
  void check_room(int64_t tokens, int64_t reply) const;
  /// Whether both fit into the memory limit together with `others` bytes that the process holds
  /// elsewhere.
  bool has_room(int64_t tokens, int64_t reply, size_t others) const;

  /// Bytes that the process may use: SessionOptions::memory_limit, or the free memory plus the
  /// memory that weights and keys of this process use already.
  size_t memory_limit() const;

  /// Removes all tokens.
  void reset();
  /// Copies all pages that other sequences share (for measurements).
  void unshare_pages();
  /// Keeps the longest common prefix of `tokens` and this sequence, if the method can rewind to it
  /// and the RoPE angles stay the same (for scalings that depend on the length: in a context of
  /// tokens.size() tokens). Recurrent layers go back to their last stored state before its end.
  /// Otherwise resets the sequence. Returns the number of tokens kept; the caller prefills the
  /// rest. If all of `tokens` are kept, logits() are valid.
  int64_t reuse_prefix(std::span<const int32_t> tokens);
  /// Removes the tokens from `length` on. The method must be able to rewind
  /// (AttentionDriver::can_rewind) and the model have no recurrent layers, or nothing may be
  /// removed. logits() are empty afterwards if tokens were removed.
  void truncate(int64_t length);
  /// Frees the memory of logits().
  void drop_logits();

  /// The contents of a sequence with dense attention, which shares its pages with the copy.
  ContextCopy copy_context() const;
  /// For an empty sequence: copies from `copy` the first tokens of `prompt` that this sequence's
  /// method would read exactly as dense attention does (AttentionDriver::dense_prefix),
  /// limited to the tokens of the copy and to `most`. Returns the number of copied tokens, at most
  /// prompt.size() - 1; the caller prefills the rest. The copy must come from the same engine with
  /// the same KV type, compute and chunk.
  int64_t begin_with(const ContextCopy& copy, std::span<const int32_t> prompt,
                     int64_t instruction = 0, int64_t most = kAllTokens);

  /// Writes tokens, store and method state, with a key of model, method and types (sequence_file.cc
  /// has the layout).
  void save(const std::filesystem::path& file) const;
  /// Replaces the contents of this sequence. Throws UserError, before rows are read, if the file
  /// belongs to other settings or exceeds the memory limit; the sequence is unchanged then.
  void load(const std::filesystem::path& file);
  /// Like save(), with the chunk, the resume group and the parent (version 10). The rows of the
  /// first parent.tokens tokens are left out; can_leave_out() must hold for them.
  void save_after(const std::filesystem::path& file, const SessionParent& parent) const;
  /// Whether no row was evicted or selected, so that a parent's rows can be left out.
  bool can_leave_out() const;
  /// Loads a file of save_after(). `parent` has at least its parent's tokens.
  void load_after(const std::filesystem::path& file, const Sequence& parent);

  /// From now on calls `observer` with the keys that rows attend to (for analyses).
  void observe(AttentionObserver observer);

 private:
  friend class ModelRunner;
  friend class Prefill;
  struct State;
  explicit Sequence(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace longhaul
