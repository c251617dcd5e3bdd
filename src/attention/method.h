#pragma once
// The interface of an attention method. A method must override plan(). It overrides the other
// virtual functions only if their default is unsuitable. Most eviction methods override plan() and
// choose(). These functions never read elements of arrays. They pass views from one operation
// (ops/, kv/) to the next, and base decisions on lengths and positions only. The same source
// therefore runs on the host and on devices. The terms list, pass and step are defined in
// attention/plan.h and attention/step.h.

#include <functional>
#include <memory>

#include "attention/step.h"
#include "base/archive.h"
#include "ops/core/row_list.h"

namespace longhaul {

/// The arguments of Method::choose(): an eviction of rows from the lists of one layer.
struct Eviction {
  Queue& queue;
  const ModelShape& shape;
  const MethodPlan& method;  ///< the rules for the whole method
  const ListPlan& plan;      ///< the rules for the lists of the layer
  KvStore& store;
  bool& changed;   ///< to be set to true if choose() itself evicts rows (MethodPlan::own_rule)
  Pass pass;       ///< the pass after which the eviction runs
  int stream = 0;  ///< index of `store` among the KV stores
  int layer = 0;
  int lists = 0;       ///< number of lists in the layer
  int64_t tokens = 0;  ///< length of the context
  int64_t kept = 0;    ///< number of rows that each list keeps
  /// Number of most recent rows that are kept regardless of their scores; `kept` includes them.
  int64_t recent = 0;
  bool last = true;  ///< whether this is the last layer of the eviction
  /// Stored rows of each list. Empty with MethodPlan::own_rule if the lists have no budget.
  std::span<const PagedRows> keys;
  /// For each list, the attention probability that each row received from the observation window
  /// (MethodPlan::observation_window), summed over its query rows; [rows] per list. Empty if the
  /// method has no observation window.
  std::span<const View<const float>> received;
  /// Output: a score for each row of each list, [rows] per list. The rows with the highest scores
  /// are kept.
  std::span<const View<float>> scores;

  int64_t rows(int list) const { return store.length(layer, list); }
  View<float> column(int list, size_t number) const {
    return store.column(layer, list, method.columns[number]);
  }
};

/// Memory in bytes that a method needs in addition to the KV rows.
struct ExtraMemory {
  size_t index = 0;       ///< current size of the index of the context's keys
  size_t most_index = 0;  ///< size of the index after all prompts have been appended to the context
  size_t working = 0;     ///< peak of the other memory during prefill
};

class Method {
 public:
  /// Set by the method, usually in fit() (method_info() in attention/registry.h).
  MethodPlan whole;

  virtual ~Method() = default;

  /// Returns the rules for the list of one KV head. `tokens` is the length of the context,
  /// including the tokens of the current pass.
  virtual ListPlan plan(int layer, int kv_head, int64_t tokens) const = 0;

  /// Returns the passes that read a prompt. Called at the start of the prompt. If the result is
  /// empty, the driver derives the passes from the plan. Throws UserError to reject the prompt; the
  /// message names the option that causes the rejection.
  virtual std::vector<Pass> passes(const PromptFacts& /*prompt*/) { return {}; }

  /// Computes the attention of the step's rows and writes it to step.out. The keys and values of
  /// the step are already stored, in the form that MethodPlan::place describes. The default
  /// computes the attention that the plan describes (attend_by_plan()).
  virtual void attend(LayerStep& step);

  /// Updates the columns (MethodPlan::columns) by the attention of the step's rows. Called after
  /// attend() if a later eviction will score rows. If there is exactly one column, the default adds
  /// to each stored row's value the attention probability that the row received. Otherwise the
  /// default does nothing.
  virtual void observe(LayerStep& step);

  /// Decides which rows are evicted. Called for each layer of an eviction. It writes due.scores.
  /// The default copies due.received, or the first column if due.received is empty.
  ///
  /// With MethodPlan::own_rule it removes rows from the store instead of writing scores. It may do
  /// this in each call. It may also remember the layers, and remove rows of all layers in the call
  /// with due.last. With When::kOwn it is called after the attention of every layer, in each pass
  /// and for each generated token, once for each stream.
  virtual void choose(const Eviction& due);

  /// Writes the state that the method keeps outside the KV stores to a session file, or reads it
  /// from one. A session file may be malicious. archive() therefore validates each value that it
  /// reads. It returns a function that compares these values with the KV store of the same file, or
  /// an empty function if no comparison is needed. `tokens` is the length of the context. Both
  /// throw UserError. The message of the returned function does not include the name of the file.
  using StoreCheck = std::function<void(const KvStore&, int64_t tokens)>;
  virtual StoreCheck archive(Archive& /*archive*/) { return {}; }

  /// Returns the memory that the method needs in addition to the KV rows. `tokens` is the length of
  /// the context, `chunk` is the number of rows of a pass, and `layout` describes the stored rows.
  virtual ExtraMemory extra_memory(const KvLayout& /*layout*/, int64_t /*tokens*/,
                                   int /*chunk*/) const {
    return {};
  }
};

}  // namespace longhaul
