#pragma once
// The interface of an attention method. A method must override plan(). Most eviction methods also
// override choose(). Methods pass views of arrays from one operation to the next and never read
// elements, so that the same source runs on the host and on devices. A list holds the stored rows
// of one KV head in one layer. A pass processes some tokens of a prompt, or one generated token. A
// step is the work of one layer in a pass.

#include <functional>
#include <memory>

#include "attention/step.h"
#include "base/archive.h"
#include "ops/core/row_list.h"

namespace longhaul {

/// The arguments of Method::choose(): an eviction from the lists of one layer.
struct Eviction {
  Queue& queue;
  const ModelShape& shape;
  const MethodPlan& method;  ///< the rules for the whole method
  const ListPlan& plan;      ///< the rules for the lists of the layer
  KvStore& store;
  /// With MethodPlan::own_rule, choose() must set this to true if it evicts rows.
  bool& changed;
  Pass pass;       ///< the pass after which the eviction runs
  int stream = 0;  ///< index of `store` among the KV stores
  int layer = 0;
  int lists = 0;       ///< number of lists in the layer
  int64_t tokens = 0;  ///< length of the context
  int64_t kept = 0;    ///< number of rows that each list keeps, including the recent ones
  int64_t recent = 0;  ///< number of most recent rows that are kept regardless of their scores
  bool last = true;    ///< whether this is the last layer of the eviction
  std::span<const PagedRows> keys;  ///< stored rows of each list; empty if lists have no budget
  /// For each list, [rows]: the attention probability that each row received, summed over the query
  /// rows of the observation window. Empty without MethodPlan::observation_window.
  std::span<const View<const float>> received;
  /// Output of choose(). For each list, [rows]: the rows with the highest scores are kept.
  std::span<const View<float>> scores;

  int64_t rows(int list) const { return store.length(layer, list); }
  View<float> column(int list, size_t number) const {
    return store.column(layer, list, method.columns[number]);
  }
};

/// Bytes that a method needs in addition to the KV rows.
struct ExtraMemory {
  size_t index = 0;       ///< current size of the method's index of the context's keys
  size_t most_index = 0;  ///< size of the index at the context length of extra_memory()
  size_t working = 0;     ///< peak of all other memory of the method during prefill
};

class Method {
 public:
  /// The rules for the whole method. The method sets them, usually in fit() (attention/registry.h).
  MethodPlan whole;

  virtual ~Method() = default;

  /// Returns the rules for the list of one KV head. `tokens` is the length of the context,
  /// including the tokens of the current pass.
  virtual ListPlan plan(int layer, int kv_head, int64_t tokens) const = 0;

  /// Returns the passes of a prompt. If empty, the driver derives them from the plan. Throws
  /// UserError to reject the prompt; the message names the option that causes it.
  virtual std::vector<Pass> passes(const PromptFacts& /*prompt*/) { return {}; }

  /// Computes the attention of the step's rows, whose keys and values are already stored, and
  /// writes it to step.out. The default computes what the plan describes (attend_by_plan()).
  virtual void attend(LayerStep& step);

  /// Updates the columns (MethodPlan::columns) with the attention of the step's rows. Called after
  /// attend() if a later eviction scores rows. With one column, the default adds to it the
  /// attention probability that each stored row received. Otherwise the default does nothing.
  virtual void observe(LayerStep& step);

  /// Scores the rows of one layer for an eviction: writes due.scores. The default copies
  /// due.received, or the first column if due.received is empty. With MethodPlan::own_rule,
  /// choose() removes rows from the store instead. It may remove them in each call from the current
  /// layer, or in the call with due.last = true from all layers. With When::kOwn it is called after
  /// the attention of every layer, in each pass and for each generated token, once for each stream.
  virtual void choose(const Eviction& due);

  /// Writes the state that the method keeps outside the KV stores to a session file, or reads it
  /// from one. Must check everything that it reads, because the file may be malicious. Returns a
  /// function that compares the state with the KV store of the same file, or an empty function.
  /// `tokens` is the length of the context. archive() and the returned function throw a UserError
  /// if the state is invalid. The message does not contain the name of the file.
  using StoreCheck = std::function<void(const KvStore&, int64_t tokens)>;
  virtual StoreCheck archive(Archive& /*archive*/) { return {}; }

  /// Returns the memory needed beside the KV rows for `tokens` tokens in passes of `chunk` rows.
  virtual ExtraMemory extra_memory(const KvLayout& /*layout*/, int64_t /*tokens*/,
                                   int /*chunk*/) const {
    return {};
  }
};

}  // namespace longhaul
