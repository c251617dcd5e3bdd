#pragma once
// The contract of an attention method: a plan, and as many of the small programs below as it needs.
// Most eviction methods write plan() and score(). A program never reads numeric values. It passes
// views from one operation (ops/, kv/) to the next and decides by lengths and positions only, so
// the same source runs on the host and on devices.

#include <memory>

#include "attention/step.h"
#include "base/archive.h"
#include "ops/core/row_list.h"

namespace longhaul {

/// A due eviction of a layer's lists: the input by which score() ranks rows.
struct Cut {
  Queue& queue;
  const ModelShape& shape;
  const Plan& plan;
  KvStore& store;
  int layer = 0;
  int lists = 0;
  int64_t tokens = 0;  ///< length of the context so far
  int64_t stay = 0;    ///< rows that each list keeps
  int64_t recent = 0;  ///< last rows among those kept, whatever their scores
  /// Rows of each list, as they are stored.
  std::span<const PagedRows> keys;
  /// Attention that each list's rows received from the observation window (Plan::watch), [rows] per
  /// list; empty without a window.
  std::span<const View<const float>> paid;
  /// output per list [rows]: rows with the highest scores are kept
  std::span<const View<float>> scores;

  int64_t rows(int list) const { return store.length(layer, list); }
  View<float> column(int list, size_t number) const {
    return store.column(layer, list, plan.columns[number]);
  }
};

/// Memory that a method holds in addition to the rows, in bytes.
struct Beside {
  size_t index = 0;       ///< index of the context's keys, at present
  size_t most_index = 0;  ///< the index after prompts have grown the context
  size_t working = 0;     ///< most working memory during prefill, without the index
};

class Method {
 public:
  virtual ~Method() = default;

  /// The plan for a KV head's list in a context of `tokens` tokens, including those of the pass.
  virtual Plan plan(int layer, int kv_head, int64_t tokens) const = 0;

  /// Called at the start of a prompt. Returns the passes that read it, or none to use the passes
  /// that follow from the plan. May refuse the prompt with a UserError that names the option.
  virtual std::vector<Pass> passes(const PromptFacts&) { return {}; }

  /// Work shared by the rows of all passes of a batch. It is called in each layer before attend()
  /// of the first pass, if the plan says so (Plan::begins_together), after the keys of all passes
  /// have been appended. `all` is one step with all their rows, as if they were one pass, and its
  /// `out` may be filled. A generated token is one pass of one row.
  virtual void begin_layer(LayerStep& /*all*/) {}

  /// Fills step.out. The keys have been appended (see Plan, see.place). The default attends by the
  /// plan.
  virtual void attend(LayerStep& step);

  /// Called after attend() when rows will be scored: adds the evidence of the step's rows to the
  /// columns. The default adds their attention to the plan's only column.
  virtual void observe(LayerStep& step);

  /// Writes cut.scores. The default uses the attention received, or the plan's first column.
  virtual void score(const Cut& cut);

  /// For plans without a budget: selects the rows to keep by the method's own rule, for all layers
  /// that evict. Each list of cuts[i] that loses rows is appended to kept[i].
  virtual void choose(std::span<const Cut>, std::span<std::vector<StayingRows>> /*kept*/) {}

  /// Called in each layer after its attention, for each pass and generated token: drops rows from
  /// the layer's lists, in all streams, by the method's own rule (When::kOwn).
  virtual void retain(LayerStep&) {}

  /// Called after each pass and generated token, when all layers of its batch are done.
  virtual void after_pass(const Pass&) {}

  /// State outside the stores, for session files. One function both writes and reads it. Files may
  /// be hostile: archive() checks the values it reads by themselves, and check() compares them with
  /// the store of the same file, for a context of `tokens` tokens. Both throw UserError; the
  /// message of check() does not include the file's name.
  virtual void archive(Archive&) {}
  virtual void check(const KvStore&, int64_t /*tokens*/) const {}

  /// Memory that the method holds in addition to the rows of a context of `tokens` tokens, read in
  /// passes of `chunk` rows, with keys stored as `layout` says.
  virtual Beside beside(const KvLayout&, int64_t /*tokens*/, int /*chunk*/) const { return {}; }
};

}  // namespace longhaul
