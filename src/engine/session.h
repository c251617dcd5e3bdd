#pragma once
// One context: the tokens read so far, their keys and values, and the method that chooses among
// them.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "attention/method_spec.h"
#include "base/cancel.h"
#include "engine/engine.h"
#include "kv/kv_store.h"
#include "model/decoder.h"

namespace longhaul {

struct SessionOptions {
  MethodSpec attention = MethodSpec::parse("dense");
  Queue queue;  ///< where it runs; the host's by default. A team's: its leader's
  KvType kv_type;
  Compute compute = Compute::kBest;
  int chunk = 0;            ///< rows that are computed together; 0: chunk_of() decides
  int64_t context = 0;      ///< most tokens a session may hold (`--ctx`); 0: no limit
  size_t memory_limit = 0;  ///< bytes; 0: what the machine has free
  int at_a_time = 1;        ///< sessions of this process, each like this one, that share the limit
};

/// Rows of a prompt that are computed together, in one pass or several: `asked`, or where that is 0
/// the method's choice or the engine's, which on a GPU is larger: expanding quantized weights and
/// filling the chip costs the same for any.
int chunk_of(int asked, const AttentionDriver& method, const Queue& queue = {});

struct PrefillHooks {
  /// After every layer of passes that are computed together: tokens done of all tokens of this
  /// call, those of the passes by the share of the layers that are done.
  std::function<void(int64_t done, int64_t total)> progress;
  /// The same as the new tokens [begin, begin + count) that they keep and the share that is done.
  std::function<void(int64_t begin, int64_t count, double share)> pass_progress;
  const CancelFlag* cancel = nullptr;
  /// Logits of every row of a pass, [rows, vocab], first row's index in the call (perplexity).
  std::function<void(int64_t first, int64_t rows, const float* logits)> all_logits;
  int64_t instruction = 0;            ///< how many tokens at the end are the instruction
  std::span<const int64_t> evidence;  ///< PromptFacts::evidence
  int64_t reply = 0;  ///< most tokens to be generated afterwards: the forecast counts them
};

/// What a prompt will need, before it is read.
struct MemoryForecast {
  size_t weights = 0;  ///< mapped; read from disk on demand
  size_t kv = 0;
  size_t working = 0;  ///< activations and expanded weights of what is computed together
  size_t process = 0;  ///< Engine::process_bytes
  size_t others = 0;   ///< keys and values, and working memory, of other sessions
  size_t total() const { return weights + kv + working + process + others; }
};

struct SessionReport {
  int64_t tokens = 0;
  int64_t live_rows = 0;         ///< kept (token, layer, KV head) rows
  size_t kv_bytes = 0;           ///< in memory, a method's index included
  double pairs_share = 1.0;      ///< attention pairs computed, of those of dense attention
  double attention_seconds = 0;  ///< since the session began
  MemoryForecast forecast;       ///< what the last prompt and its reply were said to need
};

/// Whether a file that is there begins as Session::save() writes it.
bool is_session_file(const std::filesystem::path& file);

/// Tokens with their keys and values as dense attention has read them, and what that took.
struct ContextCopy {
  std::vector<int32_t> tokens;
  std::vector<KvStore> stores;  ///< one, or of each device of a team
  int64_t angles_length = 0;    ///< the context length whose angles the keys have
  double attention_seconds = 0;

  size_t bytes() const { return stores.front().bytes(); }  ///< of one device
};

class Session {
 public:
  Session(std::shared_ptr<const Engine> engine, const SessionOptions& options);
  ~Session();
  Session(Session&&) noexcept;

  const Engine& engine() const;
  const SessionOptions& options() const;
  std::span<const int32_t> tokens() const;  ///< read so far

  /// What reading `tokens` more will need in all.
  MemoryForecast forecast(int64_t tokens) const;

  /// Throws UserError where `tokens` more tokens and a reply of up to `reply` would not fit into
  /// `context` or the memory limit.
  void check_room(int64_t tokens, int64_t reply) const;
  /// Whether both fit into the memory limit together with `others` bytes that the process holds
  /// elsewhere.
  bool has_room(int64_t tokens, int64_t reply, size_t others) const;

  /// Reads tokens. Returns false when it was cancelled: finished passes stay; the pass in which it
  /// was cancelled is taken back, or finished where the method cannot take it back. Throws
  /// UserError when the tokens go beyond `context`, or the forecast beyond the memory limit;
  /// nothing has changed then. Where a pass throws (a full disk), the session forgets everything.
  bool prefill(std::span<const int32_t> tokens, const PrefillHooks& hooks = {});

  /// Reads one generated token. Where that throws, the session forgets everything.
  void decode(int32_t token);

  /// Logits [vocab] after the last token read.
  std::span<const float> logits() const;

  /// Keeps the longest prefix that `tokens` and this context share, if the method can go back to
  /// it and would read it at the same angles (scalings that depend on the length: in a context of
  /// tokens.size() tokens), else forgets everything. Returns the tokens kept; the caller prefills
  /// the rest. Nothing is left to read where `tokens` was read last: then logits() are valid.
  int64_t reuse_prefix(std::span<const int32_t> tokens);

  /// Tokens, store and method state, keyed by model, method and types. See session_file.cc.
  void save(const std::filesystem::path& file) const;
  /// Replaces this session's contents. Throws UserError naming what does not fit, the memory limit
  /// among it, before rows are read; the session is unchanged then.
  void load(const std::filesystem::path& file);

  /// From now on calls `observer` with the keys that rows attend to (for analyses).
  void observe(AttentionObserver observer);

  SessionReport report() const;
  const KvStore& store() const;

  /// What a dense session has read; pages of keys and values are shared until one side writes.
  ContextCopy copy_context() const;
  /// In a session that has read nothing: takes over from `copy` the first tokens of `prompt` that
  /// this session's method would read exactly as dense attention does
  /// (AttentionDriver::dense_prefix), as far as the copy goes. Returns the tokens taken, at most
  /// prompt.size() - 1; the caller prefills the rest. The copy must come from the same engine with
  /// the same KV type, compute and chunk.
  int64_t begin_with(const ContextCopy& copy, std::span<const int32_t> prompt,
                     int64_t instruction = 0);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace longhaul
