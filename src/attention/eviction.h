#pragma once
// Evictions by a plan: when they are due, the attention that rows received from the observation
// window, and the selection of the rows that each list keeps.

#include <vector>

#include "attention/method.h"
#include "ops/choose/select_rows.h"
#include "ops/maps/observed_rows.h"

namespace longhaul {

class Evictor {
 public:
  Evictor(Method& method, const ModelShape& shape);

  /// Begins a prompt. `keep` is that of the lists that evict. For MethodPlan::whole_strides it sets
  /// the number of the prompt's first tokens before its strides.
  void begin_prompt(const PromptFacts& prompt, const Keep& keep);
  int64_t lead() const { return lead_; }

  /// Whether the pass, or the generated token, is followed by an eviction of such lists.
  bool due(When when, const Pass& pass, const Keep& keep) const;
  /// Whether rows will be scored, given that lists have grown to their present length.
  bool will_evict() const { return !method_.whole.whole_strides || held_ > target_; }
  /// Stores the queries of the step's last rows for the next eviction.
  void watch(const LayerStep& step);

  /// Evicts rows of a layer. `last`: no other layer follows in this eviction.
  void evict(Queue& queue, KvStore& store, const ListPlan& plan, const Pass& pass, int layer,
             int64_t tokens, bool last);
  /// Lets the method evict rows of a layer after a pass (When::kOwn).
  void evict_freely(LayerStep& step, const ListPlan& plan, int64_t tokens);

  bool changed = false;  ///< rows were evicted or selected
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
  // Evictions by strides.
  int64_t lead_ = 0;    ///< first tokens of the prompt, before its strides
  int64_t target_ = 0;  ///< rows of a list after an eviction (MethodPlan::whole_strides)
  int64_t held_ = 0;    ///< rows of a list now

  std::vector<ObservedRows> observed_;            ///< per layer
  AttendCompute compute_ = AttendCompute::kBest;  ///< setting of the last step
  // Memory of an eviction.
  PerRope<RotationBuffer> rotations_;
  std::vector<KeySegment> segments_;
  Array<float> scores_, layer_scores_, received_;  ///< all lists of a layer, concatenated
  std::vector<PagedRows> keys_;
  std::vector<View<float>> score_views_, received_targets_;
  std::vector<View<const float>> received_views_;
  std::vector<RowSelection> selections_;
  std::vector<RowList> kept_;
  std::vector<KeptList> kept_rows_;
};

}  // namespace longhaul
