#pragma once
// AttentionDriver runs an attention method. From the rules of the method (attention/plan.h) it
// derives the passes of a prompt, the evictions, the memory forecasts, whether passes can be
// undone, and the contents of session files. The engine calls prepare() before a prompt, attend()
// in each layer of a pass, and finish() after each pass.
//
// A pass is one forward pass over some tokens of a prompt, or over one generated token. A step is
// the work of one layer in one pass (LayerStep). A list holds the stored rows (keys and values) of
// one KV head in one layer. The context is the sequence of all tokens so far.

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "attention/eviction.h"
#include "attention/method.h"
#include "attention/resume_rule.h"

namespace longhaul {

/// Describes when a method selects the rows of a prompt that it keeps, and which rows influence the
/// selection. A prompt often consists of a long text and a question at its end. If the question
/// influences the selection, the text cannot be processed before the question is known.
enum class PromptChoice : uint8_t {
  /// During prefill, from the rows that have been processed so far. Methods that keep all rows also
  /// have this value.
  kWhileReading,
  /// From the instruction (question) at the end of the prompt, which must be given.
  kByInstruction,
  kByLastRow,  ///< during prefill, and once more from the last row of the prompt
  /// After prefill, from the attention of the last rows or of all rows. Prefill itself is dense.
  kAtEnd,
  kOnceRead,  ///< after prefill; the last rows have no more influence than all other rows
};

/// Returns whether a text can be processed before the question about it is known.
inline bool serves_any_question(PromptChoice choice) {
  return choice == PromptChoice::kWhileReading || choice == PromptChoice::kOnceRead;
}

class AttentionDriver {
 public:
  AttentionDriver(std::unique_ptr<Method> method, const ModelShape& shape);

  /// Returns the layout of the KV store. Throws UserError if rows cannot be stored as `type`
  /// (`--kv-type`).
  KvLayout layout(const ModelShape& shape, const KvType& type) const;

  /// Returns the passes of a prompt. Call it before the prompt is processed. Throws UserError if
  /// the method rejects the prompt; the message names the option that causes the rejection.
  std::vector<Pass> prepare(const PromptFacts& prompt);
  /// Prepares a layer for a group of passes that are computed together. Call it in each layer
  /// before attend() of the first of these passes. `all` contains the rows of all these passes in
  /// order (LayerStep::all). Without MethodPlan::begins_together the function does nothing.
  void begin_layer(LayerStep& all);
  /// Returns whether begin_layer() has an effect.
  bool begins_together() const { return whole().begins_together; }
  /// Computes the attention of a step and writes it to step.out. Appends the step's keys and values
  /// to the store, unless begin_layer() has done it. Removes the rows that are evicted during
  /// prefill.
  ///
  /// For a batch of several sequences, the three parts of attend() are called one by one.
  /// begin_append() of all sequences adds their keys to step.appends. Then begin_attend() of all
  /// sequences adds their attention to step.batch, and end_attend() adds their evictions to
  /// step.evictions. The caller runs each of these batches before it calls the next part.
  void attend(LayerStep& step) {
    begin_append(step);
    begin_attend(step);
    end_attend(step);
  }
  void begin_append(LayerStep& step);
  void begin_attend(LayerStep& step);
  void end_attend(LayerStep& step);
  /// Evicts rows if `pass` ends a prompt (or is a generated token) and the plan requires an
  /// eviction there (When::kPromptEnd). Call it after each pass and each generated token, when all
  /// layers have been computed.
  void finish(std::span<KvStore> streams, const Pass& pass);

  /// Returns the number of streams: the KV stores that the method uses during prefill. Stream 0
  /// belongs to the sequence: decode reads it, and session files contain it. The other streams are
  /// copies of stream 0 at the beginning of each prompt. They are removed when the prompt ends or
  /// is cancelled.
  int streams() const { return whole().streams; }
  /// Returns how many tokens at the start of a prompt in an empty context are processed exactly as
  /// by dense attention. Until the end of the prompt, the method keeps the rows of all these
  /// tokens, and their attention does not influence evictions. The result is below prompt.tokens.
  int64_t dense_prefix(const PromptFacts& prompt) const;
  /// Returns when the method selects the rows of a prompt that it keeps.
  PromptChoice prompt_choice() const;
  /// Returns the positions at which another prompt can continue from the state of an earlier
  /// prefill. `chunk` is the largest number of rows of a pass.
  ResumeRule resume_rule(int chunk) const;
  /// Returns the number of rows of a pass that suits the method if the user gives no `--chunk`. 0
  /// means the default of the engine.
  int preferred_chunk() const;
  /// most_rows_of_pass() returns the largest number of rows of one pass of this prompt.
  /// most_rows_together() returns the largest number of rows of passes that are computed together.
  int64_t most_rows_of_pass(const PromptFacts& prompt) const;
  int64_t most_rows_together(const PromptFacts& prompt) const;
  /// Returns whether the method evicts rows in some layer of this model.
  bool forgets() const { return when() != When::kNever; }

  /// Returns the peak memory in bytes of all streams and of the method's index, while prompts
  /// extend the context to `tokens` tokens in passes of at most `chunk` rows.
  size_t most_kv_bytes(const KvLayout& layout, int64_t tokens, int chunk) const;
  /// Returns the current size in bytes of the method's index, which holds copies or summaries of
  /// the context's keys outside the stores. Reported sizes of KV memory include the index.
  size_t index_bytes() const;
  /// Returns the peak memory in bytes that the method needs during prefill in addition to the
  /// stores and the index. The arguments are those of most_kv_bytes().
  size_t working_bytes(int64_t tokens, int chunk) const;
  /// Returns whether the rows of generated tokens stay in the lists until the next prompt, in
  /// addition to the rows that most_kv_bytes() counts. If false, most_kv_bytes() is also an upper
  /// bound for a context that ends with generated tokens.
  bool keeps_replies() const;

  /// Returns whether every list can be truncated to its first n rows, for any n, so that the
  /// context then continues with other tokens. This requires that no rows were evicted, and that no
  /// selection of keys depended on tokens after the n-th. The engine also calls it between two
  /// layers, to undo a pass that is cancelled there.
  bool can_rewind() const { return whole().rewinds && !evictor_.changed; }
  /// Returns the largest distance between a query row and a key that this row sees, while the
  /// context grows to `tokens` tokens in passes of at most `chunk` rows. The distance is the
  /// difference of their RoPE positions. If the distance exceeds the model's trained context
  /// length, answers become wrong.
  int64_t reach(int64_t tokens, int chunk) const;

  /// save() writes the state that is outside the stores to a session file, and restore() reads it.
  /// A session file may be malicious. check_restored() compares the restored state with the store
  /// of the same file. `tokens` is the length of the context. restore() and check_restored() throw
  /// UserError if the state is invalid. The caller must add the name of the file to the message of
  /// check_restored().
  void save(ByteWriter& out) const;
  void restore(ByteReader& in);
  void check_restored(const KvStore& store, int64_t tokens) const;

 private:
  const MethodPlan& whole() const { return method_->whole; }
  const ListPlan& plan(int layer, int list) const;
  /// Returns the eviction rules of the first layer that evicts. Only fields that are equal in all
  /// evicting layers may be used.
  const Keep& evicting() const { return plan(std::max(0, evicting_layer_), 0).keep; }
  /// Returns when rows are evicted; kNever if no list of this model evicts.
  When when() const { return evicting_layer_ < 0 ? When::kNever : whole().when; }
  bool by_query_head() const { return forgets() && whole().chooser == Chooser::kQueryHead; }
  bool by_whole_strides() const { return when() == When::kStride && whole().whole_strides; }
  /// Stores the plans of the layer's lists in plans_, for a context of `tokens` tokens.
  void ask_plans(int layer, int64_t tokens);
  bool evicts(int layer) const;
  int largest_tile() const;
  void begin(LayerStep& step);
  bool observes(const LayerStep& step) const;
  void drop_rows(LayerStep& step, bool evict);
  void drop_middles(KvStore& store, int layer) const;
  /// Largest number of rows of a list in memory. `between` applies while another layer is being
  /// computed, and `within` while the list's own layer is being computed.
  struct MostRows {
    int64_t between, within;
  };
  MostRows most_rows(const ListPlan& plan, const KvLayout& layout, int64_t tokens, int chunk) const;
  void archive(Archive& archive);
  void check_layer(const KvStore& store, int layer, int64_t tokens) const;

  ModelShape shape_;
  std::unique_ptr<Method> method_;
  Evictor evictor_;
  Method::StoreCheck check_;  ///< the check that Method::archive() returned in the last restore()
  std::vector<std::vector<ListPlan>> plans_;  ///< [layer][KV head]
  int evicting_layer_ = -1;                   ///< first layer in which some list evicts; -1: none
  int64_t tokens_ = 0;                        ///< length of the context
  int64_t prompt_end_ = 0;                    ///< position after the last prompt
  Queue queue_;
  /// The combined step (LayerStep::all) from begin_layer() until attend() of the first pass.
  std::optional<LayerStep> all_;
};

}  // namespace longhaul
