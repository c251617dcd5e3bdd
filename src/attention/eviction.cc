#include "attention/eviction.h"

#include <algorithm>

#include "attention/parts/passes.h"
#include "base/nth.h"
#include "ops/core/all_reduce.h"
#include "ops/core/fill.h"

namespace longhaul {

Evictor::Evictor(Method& method, const ModelShape& shape)
    : method_(method), shape_(shape), observed_(static_cast<size_t>(shape.layers)) {}

/// With MethodPlan::whole_strides, evictions leave `target_` rows in a list.
void Evictor::begin_prompt(const PromptFacts& prompt, const Keep& keep) {
  for (ObservedRows& layer : observed_) layer = {};
  const MethodPlan& whole = method_.whole;
  if (whole.when != When::kStride) return;
  lead_ = 0;
  if (!whole.whole_strides) return;
  const int64_t stride = whole.stride, most = keep.budget + stride;
  const int64_t total = held_ + prompt.tokens;
  target_ = total <= most ? total : most - (stride - (total - most) % stride) % stride;
  const int64_t lead = target_ - stride - held_;
  lead_ = std::clamp<int64_t>(lead >= 0 ? lead : prompt.tokens % stride, 0, prompt.tokens);
}

bool Evictor::due(When when, const Pass& pass, const Keep& keep) const {
  const MethodPlan& whole = method_.whole;
  if (whole.when != when || pass.discard) return false;
  if (pass.phase == Phase::kDecode) return whole.every_token;
  if (when == When::kPromptEnd) return pass.last;
  const bool ends = ends_stride(pass, lead_, whole.stride);
  if (!whole.whole_strides) return ends || pass.last;
  // A prompt that is shorter than a stride does not complete a stride. Without the second
  // condition, the rows of many such prompts would accumulate.
  return held_ > target_ && (ends || (pass.last && held_ > keep.budget + whole.stride));
}

void Evictor::store_queries(const LayerStep& step) {
  AttendCall seen = step.call({&step.workspace->attended.queries, 1});
  seen.lse_in = step.lse;
  nth(observed_, step.layer).add(seen, step.begin, step.rows, method_.whole.observation_window);
  compute_ = step.compute;
}

Eviction Evictor::eviction(Queue& queue, KvStore& store, const ListPlan& plan, const Pass& pass,
                           int layer, int64_t tokens) {
  return {.queue = queue,
          .shape = shape_,
          .method = method_.whole,
          .plan = plan,
          .store = store,
          .changed = changed,
          .pass = pass,
          .layer = layer,
          .lists = store.lists(layer),
          .tokens = tokens};
}

void Evictor::evict(Queue& queue, KvStore& store, const ListPlan& plan, const Pass& pass, int layer,
                    int64_t tokens, bool last) {
  Eviction due = eviction(queue, store, plan, pass, layer, tokens);
  due.last = last;
  const bool exceeds = set_sizes(due);
  const MethodPlan& whole = method_.whole;
  LH_ASSERT(whole.when == When::kPromptEnd || !whole.own_rule);
  if (whole.own_rule) {
    if (plan.keep.budget < kNoBound) prepare(due);
    method_.choose(due);
  } else if (exceeds) {
    prepare(due);
    if (!whole.keeps_received) method_.choose(due);
    keep_best(due);
    changed = true;
  }
  if (whole.whole_strides) held_ = target_;
}

bool Evictor::join(EvictionBatch& batch, const LayerStep& step, const ListPlan& plan,
                   int64_t tokens) {
  const MethodPlan& whole = method_.whole;
  const bool by_last_row = whole.keeps_received && whole.observation_window == 1 && step.rows == 1;
  if (!by_last_row || whole.when != When::kStride || whole.whole_strides || whole.own_rule ||
      whole.place != KeyPlace::kAbsolute || step.store->lists(step.layer) == 0)
    return false;
  Eviction due = eviction(*step.queue, *step.store, plan, step.pass, step.layer, tokens);
  if (!set_sizes(due)) return true;
  DueLists lists{.store = step.store,
                 .layer = step.layer,
                 .call = step.call({&step.workspace->attended.queries, 1}),
                 .keep = {plan.keep.sink, due.recent, due.kept},
                 .by_layer = whole.chooser == Chooser::kLayer};
  lists.call.lse_in = step.lse;
  if (!batch.add(lists)) return false;
  changed = true;
  return true;
}

void Evictor::evict_freely(LayerStep& step, const ListPlan& plan, int64_t tokens) {
  for (KvStore& store : step.streams) {
    Eviction due = eviction(*step.queue, store, plan, step.pass, step.layer, tokens);
    due.stream = static_cast<int>(&store - step.streams.data());
    method_.choose(due);
  }
}

/// Sets due.kept and due.recent. Returns whether the lists have more rows than are kept.
bool Evictor::set_sizes(Eviction& due) const {
  const Keep& keep = due.plan.keep;
  due.kept = due.method.whole_strides ? target_ : keep.budget;
  due.recent = keep.recent;
  if (due.method.when == When::kPromptEnd && due.method.observes_last_rows()) {
    due.recent =
        // The prompt may be shorter than the window.
        std::min(due.recent, nth(observed_, due.layer).count());
  }
  int64_t held = 0;
  for (int list = 0; list < due.lists; ++list) held += due.rows(list);
  return held > due.kept * due.lists;
}

/// Allocates due.scores, and computes due.received from the observation window.
void Evictor::prepare(Eviction& due) {
  const bool has_window = due.method.observes_last_rows();
  int64_t rows = 0;
  for (int list = 0; list < due.lists; ++list) rows += due.rows(list);
  const View<float> scores = scores_.resize(due.queue, rows);
  const bool apart = has_window && !due.method.keeps_received;
  const View<float> received = apart ? received_.resize(due.queue, rows) : scores;
  keys_.clear();
  score_views_.clear();
  received_targets_.clear();
  received_views_.clear();
  int64_t at = 0;
  for (int list = 0; list < due.lists; ++list) {
    keys_.push_back(due.store.rows(due.layer, list));
    score_views_.push_back(scores.part(at, due.rows(list)));
    if (has_window) received_targets_.push_back(received.part(at, due.rows(list)));
    at += due.rows(list);
  }
  due.keys = keys_;
  if (has_window) {
    fill(due.queue, received, 0);
    find_received(due);
  }
  due.received = received_views_;
  due.scores = score_views_;
}

/// Computes the attention that the rows of all lists received from the observation window.
void Evictor::find_received(const Eviction& due) {
  AttendCall call = shape_.call(due.queue, due.layer);
  call.compute = compute_;
  segments_.assign(received_targets_.size(), {});
  int64_t longest = 0;
  for (int list = 0; list < due.lists; ++list) {
    KeySegment& keys = nth(segments_, list);
    keys.rows = nth(due.keys, list);
    keys.count = due.rows(list);
    keys.rotate = due.method.place == KeyPlace::kCache;
    longest = std::max(longest, keys.count);
  }
  if (due.method.place == KeyPlace::kCache) {
    call.rotations =
        &rotations_.of(shape_, due.layer).up_to(due.queue, shape_.rope_of(due.layer), longest);
  }
  nth(observed_, due.layer).attention_received(call, segments_, received_targets_);
  received_views_.assign(received_targets_.begin(), received_targets_.end());
}

void Evictor::keep_best(const Eviction& due) {
  const RowsToKeep kept{due.plan.keep.sink, due.recent, due.kept};
  selections_.resize(static_cast<size_t>(due.lists));
  kept_.resize(static_cast<size_t>(due.lists));
  if (due.method.chooser == Chooser::kLayer) {
    const View<float> sums = layer_scores_.resize(due.queue, due.rows(0));
    sum_lists(due.queue, scores_.view(), sums);
    all_reduce(due.queue, sums);
    kept_.assign(kept_.size(), select_rows(due.queue, sums, kept, selections_.front()));
  } else {
    const std::vector<View<const float>> scores(score_views_.begin(), score_views_.end());
    select_rows(due.queue, scores, kept, selections_, kept_);
  }
  kept_rows_.clear();
  for (int list = 0; list < due.lists; ++list) kept_rows_.push_back({list, nth(kept_, list)});
  due.store.keep(due.layer, kept_rows_);
}

}  // namespace longhaul
