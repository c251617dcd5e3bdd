#pragma once
// The contract of an attention method: append, select, attend, observe, retain. A method decides
// which keys each query row sees, at which positions, and what stays in the KV store. It is a short
// program over primitives (ops/, kv/) and never touches a pointer to stored keys.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "kv/kv_store.h"
#include "ops/attention.h"
#include "ops/rope.h"

namespace longhaul {

/// What methods that look at the text itself may know of a token.
enum class TokenClass : uint8_t { kOther, kSpecial, kPunctuation };

/// What a method may know of the model.
struct ModelShape {
  int layers = 0;
  int heads = 0;              ///< query heads
  std::vector<int> kv_heads;  ///< per layer
  int head_dim = 0;
  float scale = 0;  ///< of the logits, usually 1 / sqrt(head_dim)
  int64_t trained_context = 0;
  std::vector<int64_t> window;  ///< per layer: the model's own sliding window, 0 for none
  RopeTable rope;
  std::string profile_prefix;             ///< of the files of attention/profile.h; empty: none
  std::vector<TokenClass> token_classes;  ///< by token id; empty: not known

  int64_t own_window(int layer) const { return window[static_cast<size_t>(layer)]; }
};

/// A prompt before it is read.
struct PromptFacts {
  int64_t begin = 0;        ///< tokens that the context holds already
  int64_t tokens = 0;       ///< new ones
  int64_t instruction = 0;  ///< how many of them, at the end, are the instruction; 0: not known
  int chunk = 0;            ///< cap on the rows of a pass
};

/// When a method decides what stays of a prompt. Where the end of the prompt, which is the
/// question, has a say in it, a text is no good read before its question is known.
enum class PromptChoice : uint8_t {
  kWhileReading,   ///< by what has been read so far; or everything stays
  kByInstruction,  ///< it is read by the instruction at its end, and not without one
  kByLastRow,      ///< while it is read, and once more by its last row
  kAtEnd,          ///< once all of it has been read; until then it is read as dense attention does
};

/// One forward pass over `count` of the prompt's new tokens. The passes that keep what they read
/// cover the new tokens once, in order; the last pass is one of them and yields the logits of the
/// next token. A pass that discards reads tokens ahead of their turn or once more: its rows go into
/// a copy of its stream, which is thrown away before retain(). Such passes in a row that read on
/// where the one before ended share the copy.
struct Pass {
  int64_t begin = 0;  ///< 0 is the first new token, which stands at position PromptFacts::begin
  int64_t count = 0;
  int stream = 0;  ///< which of the session's KV stores it reads and writes
  bool discard = false;
};

/// One layer of one pass, as a method sees it. Queries and keys are raw (not rotated).
class LayerStep {
 public:
  int layer = 0;
  int kv_heads = 0;
  int64_t begin = 0;  ///< absolute position of row 0
  int rows = 0;
  bool decoding = false;            ///< one generated token, after the prompt
  const float* q = nullptr;         ///< [rows, heads, head_dim]
  const float* k = nullptr;         ///< [rows, kv_heads, head_dim]
  const float* v = nullptr;         ///< [rows, kv_heads, head_dim]
  float* out = nullptr;             ///< [rows, heads, head_dim]
  float* lse = nullptr;             ///< [rows, heads], filled by attend() where a method sets it
  std::span<const int32_t> tokens;  ///< ids of the rows; empty where nobody knows them
  const ModelShape* shape = nullptr;
  Pass pass;
  KvStore* store = nullptr;    ///< the pass's stream, or the copy of it that will be thrown away
  std::span<KvStore> streams;  ///< all of them
  AttendCompute compute = AttendCompute::kBest;

  int group() const { return shape->heads / kv_heads; }  ///< query heads that share a KV head

  /// q and k rotated at their absolute positions, [rows, heads or kv_heads, head_dim]. Computed
  /// once a layer, on demand.
  const float* rotated_q();
  const float* rotated_k();

  /// x [rows, heads, head_dim] rotated into `into`: row r at position + r, or all rows at one
  /// position. For methods whose positions are not the absolute ones.
  const float* rotated(const float* x, int heads, const Rotations& rotations, int64_t position,
                       Buffer<float>& into) const;
  const float* rotated_constant(const float* x, int heads, const Rotations& rotations,
                                int64_t position, Buffer<float>& into) const;

  /// All rows of a KV head (after the append), causal and within the model's own sliding window.
  /// For lists that forget nothing: row i is token i.
  KeySegment all_keys(int head) const;

  /// What the step's attention, or a look at its scores, is called with: `queries` are forms of
  /// [rows, heads, head_dim]; outputs are for the caller to name.
  AttendCall call(std::span<const float* const> queries,
                  const Rotations* rotations = nullptr) const;

  /// Attention of all rows: `segments` holds `per_head` segments for each KV head (or for each list
  /// that the method's layout keeps: query heads are dealt to them in contiguous groups). Row 0
  /// stands at `position` for visibility; without it, at `begin`.
  void attend(std::span<const float* const> queries, std::span<const KeySegment> segments,
              int per_head, const Rotations* rotations = nullptr,
              std::optional<int64_t> position = {});
  /// Attention by tasks of the method's own making.
  void attend(std::span<const float* const> queries, std::span<const AttendTask> tasks,
              const Rotations* rotations = nullptr);

  /// Shared by the layers of a pass; owned by the decoder.
  struct Workspace {
    RotationBuffer rotations;  ///< of the pass's rows
    Buffer<float> rotated_q, rotated_k;
    std::vector<AttendTask> tasks;
    int64_t pairs = 0;        ///< (row, query head, key) computed, all passes so far
    int64_t dense_pairs = 0;  ///< what dense attention would have computed (causal_pairs.h)
    double seconds = 0;       ///< spent in attend()
    /// Sees the tasks of every attend() before they run (analyses, tests).
    std::function<void(const LayerStep&, std::span<const AttendTask>)> observer;
  };
  Workspace* workspace = nullptr;

 private:
  const float* rotated(const float* x, int heads, Buffer<float>& into);
  bool has_rotated_q_ = false, has_rotated_k_ = false;
  bool counted_ = false;  ///< dense_pairs holds this step
};

class AttentionMethod {
 public:
  virtual ~AttentionMethod() = default;

  /// How the store is laid out for this method; the default is one list per KV head. Throws
  /// UserError when rows cannot be kept as `type` (`--kv-type`).
  virtual KvLayout layout(const ModelShape& shape, DType type) const;

  /// KvLayout::numbers_per_row: 1 where rows are forgotten, and 1 more for each column.
  virtual int numbers_per_row() const { return 0; }

  /// Before a prompt: the passes that read it. May refuse with UserError (names the option). The
  /// default cuts the prompt into equal passes of at most `chunk` rows.
  virtual std::vector<Pass> prepare(const PromptFacts& prompt);

  /// How many of a fresh prompt's first tokens it reads exactly as dense attention does, keeping
  /// all of them and learning nothing from them: a harness reads these once for several methods
  /// (Session::begin_with). At most prompt.tokens - 1.
  virtual int64_t dense_prefix(const PromptFacts& prompt) const {
    (void)prompt;
    return 0;
  }

  virtual PromptChoice prompt_choice() const { return PromptChoice::kWhileReading; }

  /// Rows of a pass where `--chunk` does not say; 0: as the engine does by itself.
  virtual int preferred_chunk() const { return 0; }

  /// How many KV stores it works with while it reads a prompt. Stream 0 is the session's: it is
  /// what decoding reads, what is saved and what stays. The others begin every prompt as copies of
  /// it and go when the prompt ends or is cancelled.
  virtual int streams() const { return 1; }

  /// Fills step.out. Appending the new keys to the store is the method's business.
  virtual void attend(LayerStep& step) = 0;

  /// After each pass, all layers done: what leaves the store.
  virtual void retain(KvStore& store, const Pass& pass, bool last_of_prompt) {
    (void)store, (void)pass, (void)last_of_prompt;
  }
  /// The same for methods with several streams.
  virtual void retain_streams(std::span<KvStore> streams, const Pass& pass, bool last_of_prompt) {
    retain(streams[static_cast<size_t>(pass.stream)], pass, last_of_prompt);
  }

  /// Most bytes that all streams hold while prompts make the context grow to `tokens` in passes of
  /// at most `chunk` rows; the default is for methods that keep everything.
  virtual size_t most_kv_bytes(const KvLayout& layout, int64_t tokens, int chunk) const {
    (void)chunk;
    return layout.bytes_for(tokens);
  }

  /// Bytes of the context's keys that it holds beside the stores (an index); figures of KV memory
  /// and most_kv_bytes() count them.
  virtual size_t index_bytes() const { return 0; }

  /// Most bytes that it holds beside the stores and its index while such prompts are read: rows
  /// kept until the prompt ends, scores of keys.
  virtual size_t working_bytes(int64_t tokens, int chunk) const {
    (void)tokens, (void)chunk;
    return 0;
  }

  /// True when every generated token stays until the next prompt is read, beside what
  /// most_kv_bytes() bounds. Otherwise it bounds a context that ends with a reply as well.
  virtual bool keeps_replies() const { return false; }

  /// True when rows [0, n) of the store can be used again for another continuation after
  /// truncate(n): nothing was forgotten and nothing depends on what came later. Asked between two
  /// layers as well: a pass that is cancelled there is taken back so.
  virtual bool can_rewind() const { return false; }

  /// State beyond the store, for session files, which may be hostile: restore() checks what it
  /// reads for itself, check_restored() against the store that came with it, of a context of
  /// `tokens` tokens. Both throw UserError; the second without the file's name. The default is for
  /// methods that keep every token in memory.
  virtual void save(ByteWriter& out) const { (void)out; }
  virtual void restore(ByteReader& in) { (void)in; }
  virtual void check_restored(const KvStore& store, int64_t tokens) const;

  /// How far back rows see, in positions as the model is shown them, while the context grows to
  /// `tokens` tokens in passes of at most `chunk` rows: beyond the trained length answers are
  /// wrong. The default is for keys at their places in the text.
  virtual int64_t reach(int64_t tokens, int chunk) const {
    (void)chunk;
    return tokens;
  }
};

}  // namespace longhaul
