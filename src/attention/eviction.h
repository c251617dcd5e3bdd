#pragma once
// Evictor runs the evictions that a plan requires. It determines when an eviction is due, computes
// the attention that stored rows received from the observation window, and selects the rows that
// each list keeps. attention/plan.h and attention/step.h define list, pass, step and stream.

#include <vector>

#include "attention/eviction_batch.h"
#include "attention/method.h"
#include "ops/choose/select_rows.h"
#include "ops/maps/observed_rows.h"

namespace longhaul {

class Evictor {
 public:
  Evictor(Method& method, const ModelShape& shape);

  /// Starts a prompt. `keep` holds the rules of the lists that are shortened. With
  /// MethodPlan::whole_strides it computes lead().
  void begin_prompt(const PromptFacts& prompt, const Keep& keep);
  /// Returns the number of tokens at the start of the prompt that precede its first stride.
  int64_t lead() const { return lead_; }

  /// Returns whether an eviction must follow the pass. A generated token is also a pass. `when` is
  /// the kind of eviction and `keep` holds the rules of the lists.
  bool due(When when, const Pass& pass, const Keep& keep) const;
  /// Returns whether rows will be scored in this prompt. The answer depends on the current length
  /// of the lists.
  bool will_evict() const { return !method_.whole.whole_strides || held_ > target_; }
  /// Stores the queries of the step's last rows. The next eviction uses them as the observation
  /// window.
  void store_queries(const LayerStep& step);

  /// Evicts rows of one layer. `last` is true if no other layer follows in this eviction.
  void evict(Queue& queue, KvStore& store, const ListPlan& plan, const Pass& pass, int layer,
             int64_t tokens, bool last);
  /// Adds the eviction after a generated token to `batch`, which runs later in the layer. Returns
  /// false, without changes, if the eviction cannot run in a batch. store_queries() and evict()
  /// must then be called.
  bool join(EvictionBatch& batch, const LayerStep& step, const ListPlan& plan, int64_t tokens);
  /// Calls Method::choose() for every stream of a layer, after a pass (When::kOwn).
  void evict_freely(LayerStep& step, const ListPlan& plan, int64_t tokens);

  bool changed = false;  ///< whether rows were evicted, or a selection depended on later rows
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
  // The next three members are used for evictions by strides.
  int64_t lead_ = 0;  ///< tokens of the prompt before its first stride
  /// Number of rows that an eviction leaves in a list (MethodPlan::whole_strides).
  int64_t target_ = 0;
  int64_t held_ = 0;  ///< current number of rows in a list

  std::vector<ObservedRows> observed_;            ///< per layer: stored query rows
  AttendCompute compute_ = AttendCompute::kBest;  ///< compute type of the last observed step
  // Scratch memory of an eviction.
  PerRope<RotationBuffer> rotations_;
  std::vector<KeySegment> segments_;
  /// Values of all lists of a layer, one list after another.
  Array<float> scores_, layer_scores_, received_;
  std::vector<PagedRows> keys_;
  std::vector<View<float>> score_views_, received_targets_;
  std::vector<View<const float>> received_views_;
  std::vector<RowSelection> selections_;
  std::vector<RowList> kept_;
  std::vector<KeptList> kept_rows_;
};

}  // namespace longhaul
