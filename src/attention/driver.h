#pragma once
// What the engine runs: a method, and everything that follows from its plan. The engine asks for
// passes, has layers attended and passes followed up; forecasts, what can be taken back and what a
// session file must hold are derived.

#include <memory>
#include <string_view>
#include <vector>

#include "attention/method.h"
#include "ops/choose/select_rows.h"
#include "ops/maps/observed_rows.h"

namespace longhaul {

/// When a method decides what stays of a prompt. Where the end of the prompt, which is the
/// question, has a say in it, the text cannot be read before the question is known.
enum class PromptChoice : uint8_t {
  kWhileReading,   ///< by what has been read so far; or everything stays
  kByInstruction,  ///< it is read by the instruction at its end, and not without one
  kByLastRow,      ///< while it is read, and once more by its last row
  kAtEnd,          ///< by its last rows or by what all rows paid, once all of it has been read;
                   ///< until then it is read as dense attention does
  kOnceRead,       ///< then as well, but its end counts no more than the rest of it
};

/// Whether a text can be read before the question is known.
inline bool serves_any_question(PromptChoice choice) {
  return choice == PromptChoice::kWhileReading || choice == PromptChoice::kOnceRead;
}

class AttentionDriver {
 public:
  AttentionDriver(std::unique_ptr<Method> method, const ModelShape& shape);

  /// How the store is laid out. Throws UserError when rows cannot be kept as `type` (`--kv-type`).
  KvLayout layout(const ModelShape& shape, const KvType& type) const;

  /// Before a prompt: the passes that read it. May refuse it with UserError (names the option).
  std::vector<Pass> prepare(const PromptFacts& prompt);
  /// In each layer, before attend() is asked for the passes that are computed together. `all` is a
  /// step of all their rows, one behind the other.
  void begin_layer(LayerStep& all);
  /// Fills step.out. Appends the step's keys unless begin_layer() has, and takes out of the layer's
  /// lists the rows that leave them while a prompt is read. In a batch the attention of several
  /// sequences runs between the two parts of attend(): begin_attend() adds it to step.batch.
  void attend(LayerStep& step) {
    begin_attend(step);
    end_attend(step);
  }
  void begin_attend(LayerStep& step);
  void end_attend(LayerStep& step);
  /// After each pass and generated token, all layers done: what leaves the stores at the end of a
  /// prompt.
  void finish(std::span<KvStore> streams, const Pass& pass);

  /// How many KV stores it works with while it reads a prompt. Stream 0 is the session's: it is
  /// what decoding reads, what is saved and what stays. The others begin every prompt as copies of
  /// it and go when the prompt ends or is cancelled.
  int streams() const { return first().streams; }
  /// How many of a fresh prompt's first tokens it reads exactly as dense attention does, keeping
  /// all of them and learning nothing from them. At most prompt.tokens - 1.
  int64_t dense_prefix(const PromptFacts& prompt) const;
  PromptChoice prompt_choice() const;
  /// Whether keys keep their places in the text, so that `run --sources` can follow replies.
  bool keeps_places() const { return first().see.place == KeyPlace::kAbsolute; }
  /// Rows of a pass where `--chunk` does not say; 0: as the engine does by itself.
  int preferred_chunk() const;
  /// Most rows of a pass of such a prompt, and of passes of it that are computed together.
  int64_t most_rows_of_pass(const PromptFacts& prompt) const;
  int64_t most_rows_together(const PromptFacts& prompt) const;
  /// Whether rows leave for good.
  bool forgets() const;

  /// Most bytes that all streams and the index hold while prompts make the context grow to `tokens`
  /// in passes of at most `chunk` rows.
  size_t most_kv_bytes(const KvLayout& layout, int64_t tokens, int chunk) const;
  /// Bytes of the context's keys that it holds beside the stores; figures of KV memory count them.
  size_t index_bytes() const;
  /// Most bytes that it holds beside stores and index while such prompts are read.
  size_t working_bytes(int64_t tokens, int chunk) const;
  /// True when every generated token stays until the next prompt is read, beside what
  /// most_kv_bytes() bounds. Otherwise it bounds a context that ends with a reply as well.
  bool keeps_replies() const;

  /// True when rows [0, n) of the store can be used again for another continuation after
  /// truncate(n): nothing was forgotten and nothing depends on what came later. Asked between two
  /// layers as well: a pass that is cancelled there is taken back so.
  bool can_rewind() const { return first().rewinds && !changed_; }
  /// How far back rows see, in positions as the model is shown them, while the context grows to
  /// `tokens` tokens in passes of at most `chunk` rows: beyond the trained length answers are
  /// wrong.
  int64_t reach(int64_t tokens, int chunk) const;

  /// State beyond the stores, for session files, which may be hostile: check_restored() compares it
  /// with the store that came with it, of a context of `tokens` tokens. Both throw UserError; the
  /// second without the file's name.
  void save(ByteWriter& out) const;
  void restore(ByteReader& in);
  void check_restored(const KvStore& store, int64_t tokens) const;

 private:
  const Plan& plan(int layer, int list) const;
  const Plan& first() const;
  void ask_plans(int layer, int64_t tokens);
  bool cuts(int layer) const;
  int largest_tile() const;
  void begin_strides(const PromptFacts& prompt, const Keep& keep);
  void begin(LayerStep& step);
  bool observes(const LayerStep& step) const;
  void watch(const LayerStep& step);
  void retain(LayerStep& step);
  bool due(When when, const Pass& pass) const;
  void drop_middles(KvStore& store, int layer) const;
  void cut(KvStore& store, int layer);
  void cut_to_budget(Cut& cut);
  void cut_by_own_rule();
  void judge(Cut& cut);
  void score_observed_rows(const Cut& cut);
  void keep_best(const Cut& cut);
  void keep(const Cut& cut, std::span<const RowList> kept);
  void deal(const Cut& cut, const RowsToKeep& stay);
  std::span<const View<const float>> dealt_scores(const Cut& cut);
  void keep_dealt(KvStore& store);
  /// Rows that a list holds in memory at most: between the steps of its layer, and within one.
  struct MostRows {
    int64_t between, within;
  };
  MostRows most_rows(const Plan& plan, const KvLayout& layout, int64_t tokens, int chunk) const;
  void archive(Archive& archive);
  void check_layer(const KvStore& store, int layer, int64_t tokens) const;

  ModelShape shape_;
  std::unique_ptr<Method> method_;
  std::vector<std::vector<Plan>> plans_;  ///< per layer, of its KV heads
  bool changed_ = false;                  ///< rows have left, or were chosen from
  int64_t tokens_ = 0;                    ///< of the context
  int64_t prompt_end_ = 0;                ///< position behind the last prompt
  // Cuts by strides.
  int64_t lead_ = 0;    ///< first tokens of the prompt, before its strides
  int64_t target_ = 0;  ///< rows of a list after a cut (Keep::whole_strides)
  int64_t held_ = 0;    ///< rows of a list now

  // Memory of a cut.
  Queue queue_;
  std::vector<ObservedRows> observed_;            ///< per layer
  AttendCompute compute_ = AttendCompute::kBest;  ///< of the last step
  PerRope<RotationBuffer> rotations_;
  std::vector<KeySegment> segments_;
  Array<float> scores_, layer_scores_, paid_;  ///< of all lists of a layer, one after the other
  std::vector<PagedRows> keys_;
  std::vector<View<float>> score_views_, received_targets_;
  std::vector<View<const float>> received_views_;
  std::vector<RowSelection> selections_;
  std::vector<RowList> kept_;
  std::vector<Cut> own_cuts_;  ///< of the layers that choose by a rule of their own
  std::vector<std::vector<StayingRows>> own_kept_;
  /// A layer whose lists share a budget, dealt on a device: the host asks once for all layers how
  /// many rows of each list stay.
  struct Dealt {
    int layer = 0;
    int first = 0, lists = 0;  ///< of those that share: the ones of this device
    std::vector<RowSelection> selections;
    std::vector<RowList> kept;

    std::span<const RowList> own() const {
      return std::span(kept).subspan(static_cast<size_t>(first), static_cast<size_t>(lists));
    }
  };
  std::vector<Dealt> dealt_;
  Array<float> padded_scores_, all_scores_;  ///< scores as gathered from all devices of a team
  size_t waiting_ = 0;                       ///< of `dealt_`
  Array<int32_t> counts_;                    ///< of all lists of the model ...
  int64_t next_count_ = 0;                   ///< ... of which so many are taken
  std::vector<StayingRows> staying_;
};

}  // namespace longhaul
