#pragma once
// AttentionDriver runs an attention method. It derives the execution from the method's plan: the
// passes of a prompt, the evictions, memory forecasts, whether passes can be undone, and the
// contents of session files. The engine calls it to divide a prompt into passes, in each layer for
// attention, and after each pass. The terms list, pass and step are defined in attention/plan.h and
// attention/step.h.

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "attention/eviction.h"
#include "attention/method.h"
#include "attention/resume_rule.h"

namespace longhaul {

/// The time at which a method decides which rows of a prompt it keeps. A prompt often consists of a
/// long text and a question at its end. If the end influences the decision, the text cannot be
/// processed before the question is known.
enum class PromptChoice : uint8_t {
  /// During prefill, by the rows processed so far; methods that keep all rows also have this value.
  kWhileReading,
  kByInstruction,  ///< by the instruction at the end of the prompt, which must be given
  kByLastRow,      ///< during prefill, and once more by the last row of the prompt
  /// After prefill, by the attention of the last rows or of all rows; until then prefill is dense.
  kAtEnd,
  kOnceRead,  ///< after prefill, but the last rows have no more influence than the other rows
};

/// Returns whether a text can be processed before the question is known.
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
  /// Prepares a layer. Call it in each layer before attend() of the passes that are computed
  /// together. `all` is a step that contains the rows of all these passes in order
  /// (LayerStep::all).
  void begin_layer(LayerStep& all);
  /// Returns whether begin_layer() does anything.
  bool begins_together() const { return whole().begins_together; }
  /// Computes the attention of a step and writes it to step.out. Appends the step's keys and values
  /// to the store, unless begin_layer() has done it. Removes the rows that are evicted during
  /// prefill.
  ///
  /// The three parts of attend() can also be called one by one, for several sequences in turn.
  /// begin_append() then adds the keys to step.appends, begin_attend() adds the attention to
  /// step.batch, and end_attend() adds an eviction to step.evictions. The caller runs each of the
  /// batches before it calls the next part.
  void attend(LayerStep& step) {
    begin_append(step);
    begin_attend(step);
    end_attend(step);
  }
  void begin_append(LayerStep& step);
  void begin_attend(LayerStep& step);
  void end_attend(LayerStep& step);
  /// Evicts rows at the end of a prompt, if the plan requires it. Call it after each pass and each
  /// generated token, when all layers have been computed.
  void finish(std::span<KvStore> streams, const Pass& pass);

  /// Returns the number of KV stores (streams) that the method uses during prefill. Stream 0
  /// belongs to the sequence: decode reads it, and session files contain it. The other streams are
  /// copies of stream 0 at the beginning of each prompt. They are removed when the prompt ends or
  /// is cancelled.
  int streams() const { return whole().streams; }
  /// Returns how many tokens at the start of a prompt in an empty context are processed exactly as
  /// by dense attention. The method keeps the rows of all these tokens and does not use their
  /// attention for evictions. The result is at most prompt.tokens - 1.
  int64_t dense_prefix(const PromptFacts& prompt) const;
  /// Returns when the method decides which rows of a prompt it keeps.
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
  /// Returns whether the method evicts rows.
  bool forgets() const { return when() != When::kNever; }

  /// Returns the peak memory in bytes of all streams and of the method's index, while prompts
  /// extend the context to `tokens` tokens in passes of at most `chunk` rows.
  size_t most_kv_bytes(const KvLayout& layout, int64_t tokens, int chunk) const;
  /// Returns the bytes of the method's index, which holds keys of the context in addition to the
  /// stores. Reported sizes of KV memory include it.
  size_t index_bytes() const;
  /// Returns the peak memory in bytes that the method needs during prefill in addition to the
  /// stores and the index. The arguments are those of most_kv_bytes().
  size_t working_bytes(int64_t tokens, int chunk) const;
  /// Returns whether generated tokens stay in the lists until the next prompt, in addition to the
  /// rows that most_kv_bytes() counts. If false, most_kv_bytes() is also valid for a context that
  /// ends with generated tokens.
  bool keeps_replies() const;

  /// Returns whether the store can be truncated to its first n rows and then continued with other
  /// tokens. This requires that nothing was evicted, and that no selection depended on later
  /// tokens. The engine also calls it between two layers, to undo a pass that is cancelled there.
  bool can_rewind() const { return whole().rewinds && !evictor_.changed; }
  /// Returns the largest distance between a row and a key that it sees, while the context grows to
  /// `tokens` tokens in passes of at most `chunk` rows. The distance is measured in the positions
  /// that RoPE uses. Answers are wrong if it exceeds the trained length of the model.
  int64_t reach(int64_t tokens, int chunk) const;

  /// save() writes the state that is outside the stores to a session file, and restore() reads it.
  /// A session file may be malicious. check_restored() compares the restored state with the store
  /// of the same file. `tokens` is the length of the context. restore() and check_restored() throw
  /// UserError. The message of check_restored() does not include the name of the file.
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
  /// Largest number of rows of a list in memory: while another layer is computed (`between`), and
  /// while its own layer is computed (`within`).
  struct MostRows {
    int64_t between, within;
  };
  MostRows most_rows(const ListPlan& plan, const KvLayout& layout, int64_t tokens, int chunk) const;
  void archive(Archive& archive);
  void check_layer(const KvStore& store, int layer, int64_t tokens) const;

  ModelShape shape_;
  std::unique_ptr<Method> method_;
  Evictor evictor_;
  Method::StoreCheck check_;                  ///< check returned by the last restore()
  std::vector<std::vector<ListPlan>> plans_;  ///< [layer][KV head]
  int evicting_layer_ = -1;                   ///< first layer in which some list evicts; -1: none
  int64_t tokens_ = 0;                        ///< length of the context
  int64_t prompt_end_ = 0;                    ///< position after the last prompt
  Queue queue_;
  /// The combined step (LayerStep::all), until attend() of the first pass.
  std::optional<LayerStep> all_;
};

}  // namespace longhaul
