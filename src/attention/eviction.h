#pragma once
// Evictor runs the evictions that the rules of a method require (attention/plan.h). It determines
// when an eviction is due, computes the attention that stored rows received from the observation
// window (the last query rows), and selects the rows that each list keeps.
//
// A list holds the stored rows (keys and values) of one KV head in one layer. A pass is one forward
// pass over tokens of a prompt, or over one generated token. A step is the work of one layer in one
// pass. A stream is a KV store; a method may use several. A stride is a group of consecutive prompt
// tokens after which rows are evicted (When::kStride).

#include <vector>

#include "attention/eviction_batch.h"
#include "attention/method.h"
#include "ops/choose/select_rows.h"
#include "ops/maps/observed_rows.h"

namespace longhaul {

class Evictor {
 public:
  Evictor(Method& method, const ModelShape& shape);

  /// Starts a prompt. `keep` holds the eviction rules of the lists. With MethodPlan::whole_strides,
  /// the function also computes lead().
  void begin_prompt(const PromptFacts& prompt, const Keep& keep);
  /// Returns the number of tokens of the prompt before its first stride.
  int64_t lead() const { return lead_; }

  /// Returns whether an eviction of kind `when` must follow the pass. `keep` holds the eviction
  /// rules of the lists.
  bool due(When when, const Pass& pass, const Keep& keep) const;
  /// Returns whether the lists of the current layer are long enough for an eviction by strides
  /// (MethodPlan::whole_strides). Returns true for all other kinds of eviction.
  bool will_evict() const { return !method_.whole.whole_strides || held_ > target_; }
  /// Stores the queries of the step's last rows. The next eviction uses them as the observation
  /// window.
  void store_queries(const LayerStep& step);

  /// Evicts rows of one layer. `tokens` is the length of the context. `last` is true if this is the
  /// last layer of the eviction.
  void evict(Queue& queue, KvStore& store, const ListPlan& plan, const Pass& pass, int layer,
             int64_t tokens, bool last);
  /// Adds the eviction after a generated token to `batch`, which runs later in the layer. Returns
  /// false, without changes, if the eviction cannot run in a batch. The caller must then call
  /// store_queries() and evict().
  bool join(EvictionBatch& batch, const LayerStep& step, const ListPlan& plan, int64_t tokens);
  /// Calls Method::choose() for every stream of the step, so that the method evicts rows itself
  /// (When::kOwn).
  void evict_freely(LayerStep& step, const ListPlan& plan, int64_t tokens);

  /// Whether rows were evicted, or a selection of keys depended on later rows.
  bool changed = false;
  int64_t held() const { return held_; }
  void set_held(int64_t rows) { held_ = rows; }
  void archive_held(Archive& archive) { archive.number(held_); }

 private:
  Eviction eviction(Queue& queue, KvStore& store, const ListPlan& plan, const Pass& pass, int layer,
                    int64_t tokens);
  bool set_sizes(Eviction& due) const;
  void prepare(Eviction& due);
  void find_received(const Eviction& due);
  void keep_best(const Eviction& due);

  Method& method_;
  const ModelShape& shape_;
  // The next three members are used for evictions by strides (When::kStride).
  int64_t lead_ = 0;  ///< tokens of the prompt before its first stride
  /// Number of rows that an eviction leaves in a list (MethodPlan::whole_strides).
  int64_t target_ = 0;
  int64_t held_ = 0;  ///< current number of rows of each list

  std::vector<ObservedRows> observed_;  ///< per layer: query rows of the observation window
  AttendCompute compute_ = AttendCompute::kBest;  ///< compute type of the last observed step
  // Scratch memory of an eviction.
  PerRope<RotationBuffer> rotations_;
  std::vector<KeySegment> segments_;
  /// One float per row of all lists of a layer, one list after another. layer_scores_ has the sums
  /// over the lists.
  Array<float> scores_, layer_scores_, received_;
  std::vector<PagedRows> keys_;
  std::vector<View<float>> score_views_, received_targets_;
  std::vector<View<const float>> received_views_;
  std::vector<RowSelection> selections_;
  std::vector<RowList> kept_;
  std::vector<KeptList> kept_rows_;
};

}  // namespace longhaul
