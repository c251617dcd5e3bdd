#include "attention/driver.h"

#include <algorithm>
#include <numeric>

#include "attention/parts/passes.h"
#include "attention/parts/planned_attention.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/nth.h"
#include "kv/list_checks.h"
#include "ops/attention/causal_pairs.h"

namespace longhaul {
namespace {

constexpr int64_t kLongPrompt = int64_t{1} << 40;  // longer than any prompt, for resume_rule()

/// Returns whether rows see the same keys as in dense attention until shortly before the end of the
/// prompt.
bool is_dense_until_the_end(const MethodPlan& whole, const ListPlan& plan) {
  const See& see = plan.see;
  const bool as_dense = whole.place == KeyPlace::kAbsolute && see.window == kNoBound &&
                        see.tile == 0 && !see.chosen && see.stretch == 1 && whole.columns.empty() &&
                        whole.observation_window < kNoBound &&
                        (plan.keep.all || whole.chooser != Chooser::kQueryHead);
  return as_dense &&
         (plan.keep.all || whole.when == When::kNever || whole.when == When::kPromptEnd);
}

}  // namespace

AttentionDriver::AttentionDriver(std::unique_ptr<Method> method, const ModelShape& shape)
    : shape_(shape),
      method_(std::move(method)),
      evictor_(*method_, shape_),
      plans_(static_cast<size_t>(shape.layers)) {
  for (int layer = shape_.layers - 1; layer >= 0; --layer) {
    ask_plans(layer, 0);
    const auto keeps_all = [](const ListPlan& plan) { return plan.keep.all; };
    if (!std::ranges::all_of(nth(plans_, layer), keeps_all)) evicting_layer_ = layer;
  }
}

void AttentionDriver::ask_plans(int layer, int64_t tokens) {
  std::vector<ListPlan>& plans = nth(plans_, layer);
  plans.clear();
  // If the model itself has a window in the layer, this window already limits the work. No rows are
  // selected there.
  const bool chosen = whole().when == When::kPromptEnd || whole().when == When::kStride;
  const bool all = whole().when == When::kNever || (shape_.own_window(layer) > 0 && chosen);
  for (int head = 0; head < shape_.lists(layer); ++head) {
    plans.push_back(method_->plan(layer, head, tokens));
    plans.back().keep.all = plans.back().keep.all || all;
  }
}

const ListPlan& AttentionDriver::plan(int layer, int list) const {
  const std::vector<ListPlan>& plans = nth(plans_, layer);
  const size_t lists = by_query_head() ? static_cast<size_t>(shape_.heads) : plans.size();
  return plans[static_cast<size_t>(list) * plans.size() / lists];
}

/// Returns whether rows of the layer are evicted at the end of a prompt or by strides.
bool AttentionDriver::evicts(int layer) const {
  const bool chosen = whole().when == When::kPromptEnd || whole().when == When::kStride;
  return chosen && !plan(layer, 0).keep.all;
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
  if (by_query_head()) {
    layout.heads.assign(layout.heads.size(), shape.heads);
  }
  layout.numbers_per_row = (forgets() ? 1 : 0) + static_cast<int>(whole().columns.size());
  return layout;
}

std::vector<Pass> AttentionDriver::prepare(const PromptFacts& prompt) {
  LH_ASSERT(prompt.chunk > 0 && prompt.tokens >= 0);
  prompt_end_ = prompt.begin + prompt.tokens;
  std::vector<Pass> passes = method_->passes(prompt);
  evictor_.begin_prompt(prompt, evicting());
  const int tile = largest_tile();
  if (passes.empty() && when() == When::kStride) {
    passes = stride_passes(prompt, evictor_.lead(), whole().stride);
  } else if (passes.empty()) {
    passes = tile > 0 ? tile_passes(prompt, tile) : equal_passes(prompt);
  }
  if (!passes.empty()) passes.back().last = true;
  mark_taken_back(passes);
  return passes;
}

void AttentionDriver::begin(LayerStep& step) {
  tokens_ = step.begin + step.rows;
  if (!(queue_ == *step.queue)) queue_ = *step.queue;
  if (!step.decoding() || whole().by_length) ask_plans(step.layer, tokens_);
  step.method = &whole();
  step.plans = nth(plans_, step.layer);
  step.prompt_end = prompt_end_;
}

void AttentionDriver::begin_layer(LayerStep& all) {
  if (!whole().begins_together) return;
  LH_ASSERT(all.rows == all.together_rows && whole().place == KeyPlace::kOwn);
  begin(all);
  append_keys(all);
  all_ = all;
}

void AttentionDriver::begin_append(LayerStep& step) {
  begin(step);
  if (!whole().begins_together) append_keys(step);
  if (step.pass.also_to < 0) return;
  LH_ASSERT(whole().place != KeyPlace::kAbsolute);  // keys are stored raw
  nth(step.streams, step.pass.also_to).append(step.layer, step.rows, step.k, step.v);
}

void AttentionDriver::begin_attend(LayerStep& step) {
  if (evicts(step.layer)) evictor_.set_held(step.store->length(step.layer, 0));
  if (observes(step) && !whole().begins_together) step.keep_lse();
  step.all = all_ ? &*all_ : nullptr;
  method_->attend(step);
  step.all = nullptr;
  all_.reset();
  if (!step.pass.discard) {  // dense attention would process every token only once
    step.record->dense_pairs +=
        step.shape->heads *
        causal_pairs(step.begin, step.rows, step.own_window(), step.shape->chunked);
  }
}

void AttentionDriver::end_attend(LayerStep& step) {
  evictor_.changed = evictor_.changed || step.chose;
  const ListPlan& how = plan(step.layer, 0);
  const bool due = evicts(step.layer) && evictor_.due(When::kStride, step.pass, how.keep);
  const bool gathered = due && step.decoding() && step.evictions != nullptr &&
                        evictor_.join(*step.evictions, step, how, tokens_);
  if (observes(step)) {
    method_->observe(step);
    if (whole().observes_last_rows() && !gathered) evictor_.store_queries(step);
  }
  drop_rows(step, due && !gathered);
}

/// Returns whether the method must observe the step's attention, for a later eviction or for its
/// own state.
bool AttentionDriver::observes(const LayerStep& step) const {
  if (whole().begins_together) return true;
  if (when() == When::kOwn) return whole().observation_window > 0;
  if (!evicts(step.layer) || (step.decoding() && !whole().every_token)) return false;
  return (whole().observation_window > 0 || !whole().columns.empty()) && evictor_.will_evict();
}

/// Removes rows from the layer's lists after the attention of a pass. `evict` is true if an
/// eviction by strides is due.
void AttentionDriver::drop_rows(LayerStep& step, bool evict) {
  KvStore& store = *step.store;
  const int layer = step.layer;
  for (int list = 0; list < store.lists(layer) && step.pass.taken_back > 0; ++list) {
    store.truncate(layer, list, store.length(layer, list) - step.pass.taken_back);
  }
  const ListPlan& how = plan(layer, 0);
  if (evict) evictor_.evict(queue_, store, how, step.pass, layer, tokens_, true);
  // Lists with discarded rows will be truncated.
  if (!step.pass.discard) drop_middles(store, layer);
  if (when() == When::kOwn && whole().own_rule) evictor_.evict_freely(step, how, tokens_);
}

void AttentionDriver::finish(std::span<KvStore> streams, const Pass& pass) {
  if (!evictor_.due(When::kPromptEnd, pass, evicting())) return;
  int last = shape_.layers - 1;
  while (last >= 0 && !evicts(last)) --last;
  for (int layer = 0; layer <= last; ++layer) {
    if (!evicts(layer)) continue;
    evictor_.evict(queue_, nth(streams, pass.stream), plan(layer, 0), pass, layer, tokens_,
                   layer == last);
  }
}

/// Evicts rows between the sinks and the recent rows, but only whole pages, so that pages move
/// instead of rows. Up to page_rows - 1 rows that no query row sees therefore remain in the list.
void AttentionDriver::drop_middles(KvStore& store, int layer) const {
  if (whole().when != When::kEveryPass) return;
  const int64_t page = store.layout().page_rows;
  for (int list = 0; list < store.lists(layer); ++list) {
    const Keep& keep = plan(layer, list).keep;
    if (keep.all) continue;
    const int64_t between = store.length(layer, list) - keep.sink - keep.recent;
    if (between >= page) store.drop(layer, list, keep.sink, keep.sink + between / page * page);
  }
}

int64_t AttentionDriver::dense_prefix(const PromptFacts& prompt) const {
  for (const std::vector<ListPlan>& lists : plans_) {
    for (const ListPlan& plan : lists) {
      if (!is_dense_until_the_end(whole(), plan)) return 0;
    }
  }
  return std::max<int64_t>(0, prompt.tokens - std::max<int64_t>(1, whole().observation_window));
}

PromptChoice AttentionDriver::prompt_choice() const {
  if (whole().reads_instruction) return PromptChoice::kByInstruction;
  if (when() == When::kPromptEnd) {
    const bool by_attention = whole().observes_last_rows() || !whole().columns.empty();
    return by_attention ? PromptChoice::kAtEnd : PromptChoice::kOnceRead;
  }
  return when() == When::kStride && whole().observes_last_rows() ? PromptChoice::kByLastRow
                                                                 : PromptChoice::kWhileReading;
}

int AttentionDriver::preferred_chunk() const {
  // Each pass scores its last rows, at a cost that does not depend on the length of the pass. Long
  // passes are therefore cheaper per token.
  constexpr int kRowsThatChooseTogether = 4096;
  return largest_tile() > 0 ? kRowsThatChooseTogether : 0;
}

int AttentionDriver::largest_tile() const {
  int tile = 0;
  for (const std::vector<ListPlan>& lists : plans_) {
    for (const ListPlan& plan : lists) tile = std::max(tile, plan.see.tile);
  }
  return tile;
}

// The following functions save and check the state that is outside the KV stores.

void AttentionDriver::save(ByteWriter& out) const {
  Archive archive(out);
  const_cast<AttentionDriver*>(this)->archive(archive);  // only reads this object
}

void AttentionDriver::restore(ByteReader& in) {
  Archive archive(in);
  this->archive(archive);
}

void AttentionDriver::archive(Archive& archive) {
  const bool evicts_once = when() == When::kPromptEnd && !whole().every_token;
  const bool chosen = plans_[0][0].see.chosen;
  if (by_whole_strides()) {
    evictor_.archive_held(archive);
  } else if (evicts_once || (whole().rewinds && (forgets() || chosen))) {
    archive.flag(evictor_.changed);
  }
  check_ = method_->archive(archive);
}

void AttentionDriver::check_restored(const KvStore& store, int64_t tokens) const {
  for (int layer = 0; layer < shape_.layers; ++layer) check_layer(store, layer, tokens);
  for (int layer = 0; layer < shape_.layers && by_whole_strides(); ++layer) {
    if (evicts(layer)) expect_length(store, layer, 0, evictor_.held());
  }
  if (check_) check_(store, tokens);
}

void AttentionDriver::check_layer(const KvStore& store, int layer, int64_t tokens) const {
  const Keep& keep = plan(layer, 0).keep;
  const int lists = store.lists(layer);
  const bool checks_itself = whole().when == When::kOwn || keep.in_memory < kNoBound;
  if (checks_itself) return;  // the method's own check (Method::archive()) covers it
  if (evicts(layer) && whole().own_rule && (keep.budget == kNoBound || evictor_.changed)) {
    return expect_in_memory(store, layer, 0, tokens);  // each list has its own length
  }
  if (evicts(layer) && (evictor_.changed || whole().whole_strides)) {
    return expect_equal_lists(store, layer);
  }
  const auto streams = [&](int list) {
    return whole().when == When::kEveryPass && !plan(layer, list).keep.all;
  };
  for (int list = 0; list < lists; ++list) {
    if (!streams(list)) expect_length(store, layer, list, tokens);
  }
  expect_in_memory(store, layer, 0, tokens);
  for (int list = 1; list < lists && streams(0); ++list) {
    if (streams(list)) expect_length(store, layer, list, store.length(layer, 0));
  }
}

ResumeRule AttentionDriver::resume_rule(int chunk) const {
  const auto any = [&](auto&& has) {
    return std::ranges::any_of(plans_, [&](const std::vector<ListPlan>& lists) {
      return std::ranges::any_of(lists, has);
    });
  };
  const auto ends_have_effects = [&](const ListPlan& plan) {
    const bool selects_late = plan.see.chosen && plan.see.tile == 0;
    return plan.see.dense_rows > 0 || selects_late;
  };
  ResumeRule rule;
  for (int layer = 0; layer < shape_.layers; ++layer) {
    if (shape_.own_window(layer) > 0) rule.same_bits = false;
  }
  if (whole().reads_instruction || (when() == When::kPromptEnd && whole().every_token)) {
    rule.group = ResumeGroup::kQuestion;
    return rule;
  }
  // A method that neither evicts nor rewinds has RoPE angles that depend on the length of the
  // context.
  const bool like_dense = forgets() || whole().rewinds;
  const int64_t dense = like_dense ? dense_prefix({0, kLongPrompt, 0, chunk}) : 0;
  if (dense > 0 && rule.same_bits) {
    rule.group = ResumeGroup::kDense;
    rule.last = kLongPrompt - dense;
    rule.is_dense = !forgets();
    return rule;
  }
  const bool by_ends = when() == When::kPromptEnd || when() == When::kOwn;
  if (by_ends || whole().begins_together || any(ends_have_effects)) return rule;
  const bool evicts_or_selects =
      forgets() || any([](const ListPlan& plan) { return plan.see.chosen; });
  if (whole().rewinds && !evicts_or_selects && rule.same_bits) {
    rule.group = ResumeGroup::kRewindable;
    return rule;
  }
  rule.group = ResumeGroup::kGrid;
  rule.unit = whole().rewinds && !evicts_or_selects ? 1 : chunk;
  if (when() == When::kStride) {
    rule.unit = whole().stride;
  } else if (largest_tile() > 0) {
    rule.unit = std::lcm<int64_t>(chunk, largest_tile());
  }
  return rule;
}

}  // namespace longhaul
