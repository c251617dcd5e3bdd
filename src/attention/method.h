#pragma once
// The contract of an attention method: plans, and as many of the small programs below as it needs.
// Most eviction methods write plan() and choose(). A program never reads numeric values. It passes
// views from one operation (ops/, kv/) to the next and decides by lengths and positions only, so
// the same source runs on the host and on devices.

#include <functional>
#include <memory>

#include "attention/step.h"
#include "base/archive.h"
#include "ops/core/row_list.h"

namespace longhaul {

/// A due eviction of a layer's lists.
struct Eviction {
  Queue& queue;
  const ModelShape& shape;
  const MethodPlan& method;
  const ListPlan& plan;
  KvStore& store;
  bool& changed;  ///< to be set when rows are evicted by the method's own rule
  Pass pass;      ///< the pass that it follows
  int stream = 0;
  int layer = 0;
  int lists = 0;
  int64_t tokens = 0;  ///< length of the context so far
  int64_t kept = 0;    ///< rows that each list keeps
  int64_t recent = 0;  ///< last rows among those kept, whatever their scores
  bool last = true;    ///< no other layer follows in this eviction
  /// Rows of each list, as they are stored.
  std::span<const PagedRows> keys;
  /// Attention that each list's rows received from the observation window
  /// (MethodPlan::observation_window), [rows] per list; empty without a window.
  std::span<const View<const float>> received;
  /// output per list [rows]: rows with the highest scores are kept
  std::span<const View<float>> scores;

  int64_t rows(int list) const { return store.length(layer, list); }
  View<float> column(int list, size_t number) const {
    return store.column(layer, list, method.columns[number]);
  }
};

/// Memory that a method holds besides the rows, in bytes.
struct ExtraMemory {
  size_t index = 0;       ///< index of the context's keys, at present
  size_t most_index = 0;  ///< the index after prompts have grown the context
  size_t working = 0;     ///< most working memory during prefill, without the index
};

class Method {
 public:
  MethodPlan whole;  ///< set by fit(), before the first call

  virtual ~Method() = default;

  /// The plan for a KV head's list in a context of `tokens` tokens, including those of the pass.
  virtual ListPlan plan(int layer, int kv_head, int64_t tokens) const = 0;

  /// Called at the start of a prompt. Returns the passes that read it, or none to use the passes
  /// that follow from the plan. May refuse the prompt with a UserError that names the option.
  virtual std::vector<Pass> passes(const PromptFacts&) { return {}; }

  /// Fills step.out. The keys have been appended (see MethodPlan::place). The default attends by
  /// the plan.
  virtual void attend(LayerStep& step);

  /// Called after attend() when rows will be scored: adds the evidence of the step's rows to the
  /// columns. The default adds their attention to the plan's only column.
  virtual void observe(LayerStep& step);

  /// Called for each layer of an eviction. Writes due.scores. With MethodPlan::own_rule it drops
  /// rows from the store instead, or notes the layer and drops the rows of all layers when
  /// due.last. With When::kOwn it is called in each layer after its attention, for each pass,
  /// generated token and stream. The default scores by the attention received, or by the first
  /// column.
  virtual void choose(const Eviction& due);

  /// State outside the stores, for session files. One function both writes and reads it. Files may
  /// be hostile: archive() checks the values it reads by themselves, and returns a check (or none)
  /// that compares them with the store of the same file, for a context of some tokens. Both throw
  /// UserError; the message of the check does not include the file's name.
  using StoreCheck = std::function<void(const KvStore&, int64_t tokens)>;
  virtual StoreCheck archive(Archive&) { return {}; }

  /// Memory that the method holds besides the rows of a context of `tokens` tokens, read in passes
  /// of `chunk` rows, with keys stored as `layout` says.
  virtual ExtraMemory extra_memory(const KvLayout&, int64_t, int) const { return {}; }
};

}  // namespace longhaul
