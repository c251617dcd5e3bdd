#include "attention/driver.h"

#include <algorithm>

#include "attention/parts/passes.h"
#include "attention/parts/planned_attention.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/nth.h"
#include "ops/attention/causal_pairs.h"

namespace longhaul {
namespace {

/// Whether rows see the same keys as in dense attention until shortly before the end of the prompt.
bool is_dense_until_the_end(const Plan& plan) {
  const See& see = plan.see;
  const bool as_dense = see.place == KeyPlace::kAbsolute && see.window == kNoBound &&
                        see.tile == 0 && !see.chosen && see.stretch == 1 && plan.columns.empty() &&
                        plan.observation_window < kNoBound &&
                        plan.keep.chooser != Chooser::kQueryHead;
  return as_dense && (plan.keep.when == When::kNever || plan.keep.when == When::kPromptEnd);
}

}  // namespace

AttentionDriver::AttentionDriver(std::unique_ptr<Method> method, const ModelShape& shape)
    : shape_(shape),
      method_(std::move(method)),
      plans_(static_cast<size_t>(shape.layers)),
      selecting_(plans_.size(), kNoList),
      observed_(plans_.size()) {
  for (int layer = 0; layer < shape_.layers; ++layer) ask_plans(layer, 0);
}

void AttentionDriver::ask_plans(int layer, int64_t tokens) {
  std::vector<Plan>& plans = nth(plans_, layer);
  plans.clear();
  for (int head = 0; head < shape_.lists(layer); ++head) {
    plans.push_back(method_->plan(layer, head, tokens));
    Keep& keep = plans.back().keep;
    // The model's own window bounds the work of such a layer, so nothing is selected there.
    const bool chosen = keep.when == When::kPromptEnd || keep.when == When::kStride;
    if (shape_.own_window(layer) > 0 && chosen) keep = {};
  }
  const auto selects = [](const Plan& plan) { return plan.keep.when != When::kNever; };
  const auto found = std::ranges::find_if(plans, selects);
  const int list = found == plans.end() ? kNoList : static_cast<int>(found - plans.begin());
  if (list != nth(selecting_, layer)) first_layer_ = kUnknownLayer;
  nth(selecting_, layer) = list;
}

const Plan& AttentionDriver::plan(int layer, int list) const {
  const std::vector<Plan>& plans = nth(plans_, layer);
  const size_t lists = first().keep.chooser == Chooser::kQueryHead
                           ? static_cast<size_t>(shape_.heads)
                           : plans.size();
  return plans[static_cast<size_t>(list) * plans.size() / lists];
}

/// A plan of a layer that selects rows, if there is one. Its settings hold for all such layers.
const Plan& AttentionDriver::first() const {
  if (first_layer_ == kUnknownLayer) {
    const auto found = std::ranges::find_if(selecting_, [](int list) { return list != kNoList; });
    first_layer_ = found == selecting_.end() ? 0 : static_cast<int>(found - selecting_.begin());
  }
  return nth(nth(plans_, first_layer_), std::max(0, nth(selecting_, first_layer_)));
}

bool AttentionDriver::cuts(int layer) const {
  const When when = plan(layer, 0).keep.when;
  return when == When::kPromptEnd || when == When::kStride;
}

KvLayout AttentionDriver::layout(const ModelShape& shape, const KvType& type) const {
  if (!is_kv_type(type.k) || !is_kv_type(type.v)) {
    user_error("--kv-type {}: must be {}", flag_of(type), kv_type_names());
  }
  for (int layer = 0; layer < shape.layers; ++layer) {
    if (type.holds(shape.dim_of(layer))) continue;
    user_error("--kv-type {}: the model's head dimension {} is not a multiple of 32; use bf16",
               flag_of(type), shape.dim_of(layer));
  }
  if (shape.values_in_keys && (type.k != type.v || type.k == DType::Q4_0)) {
    user_error(
        "--kv-type {}: the model stores one latent vector as key and value, for which f32, f16, "
        "bf16 and q8_0 are supported; use q8_0",
        flag_of(type));
  }
  KvLayout layout{.heads = shape.kv_heads,
                  .head_dim = shape.head_dim,
                  .type = type,
                  .head_dims = shape.head_dims,
                  .values_in_keys = shape.values_in_keys};
  if (first().keep.chooser == Chooser::kQueryHead) {
    layout.heads.assign(layout.heads.size(), shape.heads);
  }
  layout.numbers_per_row = (forgets() ? 1 : 0) + static_cast<int>(first().columns.size());
  return layout;
}

std::vector<Pass> AttentionDriver::prepare(const PromptFacts& prompt) {
  LH_ASSERT(prompt.chunk > 0 && prompt.tokens >= 0);
  prompt_end_ = prompt.begin + prompt.tokens;
  for (ObservedRows& layer : observed_) layer = {};
  std::vector<Pass> passes = method_->passes(prompt);
  const Plan& how = first();
  const int tile = largest_tile();
  if (passes.empty() && how.keep.when == When::kStride) {
    begin_strides(prompt, how.keep);
    passes = stride_passes(prompt, lead_, how.keep.stride);
  } else if (passes.empty()) {
    passes = tile > 0 ? tile_passes(prompt, tile) : equal_passes(prompt);
  }
  if (!passes.empty()) passes.back().last = true;
  mark_taken_back(passes);
  return passes;
}

/// Lists are cut to `target_` rows after every stride.
void AttentionDriver::begin_strides(const PromptFacts& prompt, const Keep& keep) {
  lead_ = 0;
  if (!keep.whole_strides) return;
  const int64_t stride = keep.stride, most = keep.budget + stride;
  const int64_t total = held_ + prompt.tokens;
  target_ = total <= most ? total : most - (stride - (total - most) % stride) % stride;
  const int64_t lead = target_ - stride - held_;
  lead_ = std::clamp<int64_t>(lead >= 0 ? lead : prompt.tokens % stride, 0, prompt.tokens);
}

void AttentionDriver::begin(LayerStep& step) {
  tokens_ = step.begin + step.rows;
  queue_ = *step.queue;
  ask_plans(step.layer, tokens_);
  step.plans = nth(plans_, step.layer);
  step.prompt_end = prompt_end_;
}

void AttentionDriver::begin_layer(LayerStep& all) {
  if (!plan(all.layer, 0).begins_together) return;
  LH_ASSERT(all.rows == all.together_rows);
  begin(all);
  LH_ASSERT(all.plans.front().see.place == KeyPlace::kOwn);
  append_keys(all);
  method_->begin_layer(all);
}

void AttentionDriver::begin_append(LayerStep& step) {
  begin(step);
  if (!step.plans.front().begins_together) append_keys(step);
}

void AttentionDriver::begin_attend(LayerStep& step) {
  if (cuts(step.layer)) held_ = step.store->length(step.layer, 0);
  if (observes(step)) step.keep_lse();
  method_->attend(step);
  if (!step.pass.discard) {  // dense attention reads every token once
    step.record->dense_pairs +=
        step.shape->heads * causal_pairs(step.begin, step.rows, step.own_window());
  }
}

void AttentionDriver::end_attend(LayerStep& step) {
  changed_ = changed_ || step.chose;
  if (observes(step)) {
    method_->observe(step);
    if (step.plans.front().observes_last_rows()) watch(step);
  }
  retain(step);
}

/// Stores the queries of the step's last rows for the next cut.
void AttentionDriver::watch(const LayerStep& step) {
  AttendCall seen = step.call({&step.workspace->attended.queries, 1});
  seen.lse_in = step.lse;
  nth(observed_, step.layer).add(seen, step.begin, step.rows, first().observation_window);
  compute_ = step.compute;
}

/// Whether a later cut uses the attention of the step's rows.
bool AttentionDriver::observes(const LayerStep& step) const {
  const Plan& plan = step.plans.front();
  const Keep& keep = plan.keep;
  if (keep.when == When::kOwn) return plan.observation_window > 0;
  if (!cuts(step.layer) || (step.decoding() && !keep.every_token)) return false;
  return (plan.observation_window > 0 || !plan.columns.empty()) &&
         (!keep.whole_strides || held_ > target_);
}

/// Removes rows from the layer's lists after the pass, before the layer attends the next one.
void AttentionDriver::retain(LayerStep& step) {
  KvStore& store = *step.store;
  const int layer = step.layer;
  for (int list = 0; list < store.lists(layer) && step.pass.taken_back > 0; ++list) {
    store.truncate(layer, list, store.length(layer, list) - step.pass.taken_back);
  }
  if (cuts(layer) && due(When::kStride, step.pass)) {
    cut(store, layer);
    if (first().keep.whole_strides) held_ = target_;
  }
  if (!step.pass.discard) drop_middles(store, layer);  // else rows may be truncated
  method_->retain(step);
}

void AttentionDriver::finish(std::span<KvStore> streams, const Pass& pass) {
  if (due(When::kPromptEnd, pass)) {
    KvStore& store = nth(streams, pass.stream);
    own_cuts_.clear();  // may hold cuts of a prompt that ended with an error
    for (int layer = 0; layer < shape_.layers; ++layer) {
      if (cuts(layer)) cut(store, layer);
    }
    if (!own_cuts_.empty()) cut_by_own_rule();
    keep_dealt(store);
  }
  method_->after_pass(pass);
}

/// Whether the pass, or the generated token, is followed by a cut.
bool AttentionDriver::due(When when, const Pass& pass) const {
  const Keep& keep = first().keep;
  if (keep.when != when || pass.discard) return false;
  if (pass.phase == Phase::kDecode) return keep.every_token;
  if (when == When::kPromptEnd) return pass.last;
  const bool ends = ends_stride(pass, lead_, keep.stride);
  if (!keep.whole_strides) return ends || pass.last;
  // Prompts shorter than a stride do not complete one, and their rows must not accumulate.
  return held_ > target_ && (ends || (pass.last && held_ > keep.budget + keep.stride));
}

/// Evicts rows between the sinks and the recent rows by whole pages, so that pages move instead of
/// rows. Up to page_rows - 1 invisible rows remain between the two for a while.
void AttentionDriver::drop_middles(KvStore& store, int layer) const {
  const int64_t page = store.layout().page_rows;
  for (int list = 0; list < store.lists(layer); ++list) {
    const Keep& keep = plan(layer, list).keep;
    if (keep.when != When::kEveryPass) continue;
    const int64_t between = store.length(layer, list) - keep.sink - keep.recent;
    if (between >= page) store.drop(layer, list, keep.sink, keep.sink + between / page * page);
  }
}

int64_t AttentionDriver::dense_prefix(const PromptFacts& prompt) const {
  for (const std::vector<Plan>& lists : plans_) {
    if (!std::all_of(lists.begin(), lists.end(), is_dense_until_the_end)) return 0;
  }
  return std::max<int64_t>(0, prompt.tokens - std::max<int64_t>(1, first().observation_window));
}

PromptChoice AttentionDriver::prompt_choice() const {
  const Plan& how = first();
  if (how.reads_instruction) return PromptChoice::kByInstruction;
  if (how.keep.when == When::kPromptEnd) {
    const bool by_attention = how.observes_last_rows() || !how.columns.empty();
    return by_attention ? PromptChoice::kAtEnd : PromptChoice::kOnceRead;
  }
  return how.keep.when == When::kStride && how.observes_last_rows() ? PromptChoice::kByLastRow
                                                                    : PromptChoice::kWhileReading;
}

int AttentionDriver::preferred_chunk() const {
  // The scoring of the last rows of a pass costs the same for a pass of any length.
  constexpr int kRowsThatChooseTogether = 4096;
  return largest_tile() > 0 ? kRowsThatChooseTogether : 0;
}

int AttentionDriver::largest_tile() const {
  int tile = 0;
  for (const std::vector<Plan>& lists : plans_) {
    for (const Plan& plan : lists) tile = std::max(tile, plan.see.tile);
  }
  return tile;
}

bool AttentionDriver::forgets() const { return first().keep.when != When::kNever; }

}  // namespace longhaul
