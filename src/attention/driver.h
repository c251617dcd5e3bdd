#pragma once
// The driver runs a method and everything that follows from its plan. The engine calls it for
// passes, for the attention of each layer and for the work after each pass. Forecasts, the ability
// to undo passes and the contents of session files follow from the plan.

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "attention/eviction.h"
#include "attention/method.h"
#include "attention/resume_rule.h"

namespace longhaul {

/// The time at which a method decides which rows of a prompt it keeps. If the end of the prompt,
/// which is the question, influences the decision, the text cannot be read before the question is
/// available.
enum class PromptChoice : uint8_t {
  kWhileReading,   ///< by the rows read so far; or all rows are kept
  kByInstruction,  ///< by the instruction at the prompt's end, which is required
  kByLastRow,      ///< during prefill, and once more by its last row
  kAtEnd,          ///< after prefill, by its last rows or by the attention of all rows; until then
                   ///< prefill is dense
  kOnceRead,       ///< after prefill, but its end counts no more than the rest
};

/// Whether a text can be read before the question is available.
inline bool serves_any_question(PromptChoice choice) {
  return choice == PromptChoice::kWhileReading || choice == PromptChoice::kOnceRead;
}

class AttentionDriver {
 public:
  AttentionDriver(std::unique_ptr<Method> method, const ModelShape& shape);

  /// The layout of the store. Throws UserError if rows cannot be stored as `type` (`--kv-type`).
  KvLayout layout(const ModelShape& shape, const KvType& type) const;

  /// Called before a prompt; returns the passes that read it. May refuse the prompt with a
  /// UserError that names the option.
  std::vector<Pass> prepare(const PromptFacts& prompt);
  /// Called in each layer before attend() of the passes that are computed together. `all` is a step
  /// of all their rows in order (LayerStep::all).
  void begin_layer(LayerStep& all);
  /// Fills step.out. Appends the step's keys unless begin_layer() has, and removes the rows that
  /// leave the layer's lists during prefill. In a batch the work of several sequences runs between
  /// the parts of attend(): begin_append() adds keys to step.appends, and begin_attend() adds
  /// attention to step.batch.
  void attend(LayerStep& step) {
    begin_append(step);
    begin_attend(step);
    end_attend(step);
  }
  void begin_append(LayerStep& step);
  void begin_attend(LayerStep& step);
  void end_attend(LayerStep& step);
  /// Called after each pass and generated token, when all layers are done. Evicts rows from the
  /// stores at the end of a prompt.
  void finish(std::span<KvStore> streams, const Pass& pass);

  /// The number of KV stores that it uses during prefill. Stream 0 belongs to the sequence: decode
  /// reads it, and it is saved and kept. At the beginning of every prompt the others are copies of
  /// it, and they are dropped when the prompt ends or is cancelled.
  int streams() const { return whole().streams; }
  /// The number of first tokens of a fresh prompt that it reads exactly as dense attention does,
  /// keeping all their rows without any evidence from them. At most prompt.tokens - 1.
  int64_t dense_prefix(const PromptFacts& prompt) const;
  PromptChoice prompt_choice() const;
  /// The places at which another prompt can continue after prefills in passes of `chunk` rows.
  ResumeRule resume_rule(int chunk) const;
  /// Preferred number of rows of a pass without `--chunk`; 0: the engine's default.
  int preferred_chunk() const;
  /// Most rows of a pass of such a prompt, and of a batch of its passes.
  int64_t most_rows_of_pass(const PromptFacts& prompt) const;
  int64_t most_rows_together(const PromptFacts& prompt) const;
  /// Whether rows are evicted.
  bool forgets() const { return when() != When::kNever; }

  /// Most bytes of all streams and the index while prompts extend the context to `tokens` tokens in
  /// passes of at most `chunk` rows.
  size_t most_kv_bytes(const KvLayout& layout, int64_t tokens, int chunk) const;
  /// Bytes of the context's keys that it holds in addition to the stores. Reported sizes of KV
  /// memory include them.
  size_t index_bytes() const;
  /// Most bytes that it holds in addition to stores and index during prefill of such prompts.
  size_t working_bytes(int64_t tokens, int chunk) const;
  /// Whether every generated token is kept until the next prompt is read, in addition to the rows
  /// that most_kv_bytes() bounds. Otherwise that bound also holds for a context that ends with a
  /// reply.
  bool keeps_replies() const;

  /// Whether rows [0, n) of the store can be used for another continuation after truncate(n):
  /// nothing was evicted, and nothing depends on later tokens. It is also called between two
  /// layers, because a pass that is cancelled there is undone in this way.
  bool can_rewind() const { return whole().rewinds && !evictor_.changed; }
  /// The largest distance at which rows see keys, in positions as the model receives them, while
  /// the context grows to `tokens` tokens in passes of at most `chunk` rows. Beyond the trained
  /// length answers are wrong.
  int64_t reach(int64_t tokens, int chunk) const;

  /// State outside the stores, for session files, which may be hostile. check_restored() compares
  /// it with the store of the same file, for a context of `tokens` tokens. Both throw UserError;
  /// the message of check_restored() does not include the file's name.
  void save(ByteWriter& out) const;
  void restore(ByteReader& in);
  void check_restored(const KvStore& store, int64_t tokens) const;

 private:
  const MethodPlan& whole() const { return method_->whole; }
  const ListPlan& plan(int layer, int list) const;
  /// The plan of the lists that evict, as far as it is the same for all of them.
  const Keep& evicting() const { return plan(std::max(0, evicting_layer_), 0).keep; }
  /// When rows are evicted from any list of this model.
  When when() const { return evicting_layer_ < 0 ? When::kNever : whole().when; }
  bool by_query_head() const { return forgets() && whole().chooser == Chooser::kQueryHead; }
  bool by_whole_strides() const { return when() == When::kStride && whole().whole_strides; }
  void ask_plans(int layer, int64_t tokens);
  bool evicts(int layer) const;
  int largest_tile() const;
  void begin(LayerStep& step);
  bool observes(const LayerStep& step) const;
  void drop_rows(LayerStep& step);
  void drop_middles(KvStore& store, int layer) const;
  /// Most rows of a list in memory: between the steps of its layer, and within one.
  struct MostRows {
    int64_t between, within;
  };
  MostRows most_rows(const ListPlan& plan, const KvLayout& layout, int64_t tokens, int chunk) const;
  void archive(Archive& archive);
  void check_layer(const KvStore& store, int layer, int64_t tokens) const;

  ModelShape shape_;
  std::unique_ptr<Method> method_;
  Evictor evictor_;
  Method::StoreCheck check_;                  ///< belongs to the state restored last
  std::vector<std::vector<ListPlan>> plans_;  ///< per layer and KV head
  int evicting_layer_ = -1;                   ///< the first layer with a list that evicts; -1: none
  int64_t tokens_ = 0;                        ///< length of the context
  int64_t prompt_end_ = 0;                    ///< position after the last prompt
  Queue queue_;
  std::optional<LayerStep> all_;  ///< LayerStep::all, until the first pass attends
};

}  // namespace longhaul
