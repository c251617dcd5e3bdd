#include "attention/parts/context_blocks.h"

#include <utility>

#include "attention/parts/list_checks.h"
#include "base/error.h"
#include "ops/block_rows.h"
#include "ops/fill.h"
#include "ops/merge_attention.h"

namespace longhaul {

void BlockOptions::declare_window(OptionList& o) {
  o.integer(init, "n_init", 0, 1 << 20, "tokens", "first tokens of the context, seen by every row");
  o.integer(local, "n_local", 1, 1 << 24, "tokens",
            "last tokens that a row sees, itself among them");
}

void BlockOptions::declare_block(OptionList& o, int64_t most) {
  o.integer(block, "block", 1, most, "tokens", "tokens of a block");
}

void BlockOptions::declare_topk(OptionList& o) {
  o.integer(topk, "topk", 0, 1 << 16, "blocks", "blocks that a step looks up");
}

void BlockOptions::declare_chunk(OptionList& o) {
  o.integer(chunk, "chunk", 1, 1 << 16, "tokens",
            "rows of a step, which look up the same blocks; --chunk caps it");
}

void BlockOptions::declare_cached(OptionList& o) {
  o.integer(cached, "cached", 1, 1 << 20, "blocks",
            "blocks kept in memory; the others lie in a temporary file");
}

void BlockOptions::declare_fidelity(OptionList& o) {
  o.choice(fidelity, "fidelity", {"paper", "repo"},
           "blocks seem to stand at distance n_local - 1 (repo) or n_local (paper)");
}

void BlockOptions::check(std::string_view method) const {
  if (cached >= topk) return;
  user_error(
      "--attention {}: cached={}: must be at least topk = {}: a step's blocks are in memory "
      "together",
      method, cached, topk);
}

ContextSplit split_context(const BlockOptions& o, int64_t tokens) {
  ContextSplit split;
  const int64_t old = std::max<int64_t>(0, tokens - o.local);
  split.init = std::min(old, o.init);
  split.blocks = (old - split.init) / o.block;
  split.remainder = split.init + split.blocks * o.block;
  return split;
}

ContextBlocks::ContextBlocks(const BlockOptions& options, const ModelShape& shape)
    : o_(options),
      shape_(shape),
      votes_(static_cast<size_t>(shape.layers), SlidingRows(shape.heads)),
      cached_(static_cast<size_t>(shape.layers)) {}

Plan ContextBlocks::plan() const {
  Plan plan;
  // Blocks that are chosen are loaded before those that leave are spilled.
  plan.keep.stretches = o_.cached + o_.topk;
  plan.keep.in_memory = o_.init + o_.local + o_.block + plan.keep.stretches * o_.block;
  plan.see.place = KeyPlace::kOwn;
  plan.see.reach =
      std::max(o_.local, o_.angle());  // the trained length itself, as published, passes
  return plan;
}

void ContextBlocks::begin(LayerStep& step) {
  split_ = split_context(o_, step.begin);
  next_ = split_context(o_, step.begin + step.rows);
  retrieves_ = step.own_window() == 0;
  voted_ = false;

  near_begin_ = std::max<int64_t>(0, step.begin - o_.local + 1);
  near_position_ = step.begin - near_begin_;
  rotations_ = &rotation_table_.up_to(shape_.rope, near_position_ + step.rows);
  forms_[0] = step.rotated(step.q, shape_.heads, *rotations_, near_position_, near_q_);
  forms_[1] = step.rotated_constant(
      step.q, shape_.heads, angle_table_.fill(shape_.rope, o_.angle(), 1), o_.angle(), far_q_);
  step.lse = lse_.resize(*step.queue, int64_t{step.rows} * shape_.heads);
}

KeySegment ContextBlocks::near_keys(const LayerStep& step, int head) const {
  const int64_t window = step.own_window();
  KeySegment near;
  near.rows = step.store->rows(step.layer, head);
  near.begin = near_begin_;
  near.count = step.begin + step.rows - near_begin_;
  near.rotate = true;
  near.visible = Visibility::kWindow;
  near.window = window > 0 ? std::min(window, o_.local) : o_.local;
  return near;
}

AttendCall ContextBlocks::near_call(const LayerStep& step) const {
  AttendCall call = step.call({forms_, 1}, rotations_);
  call.known_lse = lse_.view();
  return call;
}

/// Brings the chosen blocks into memory and lists what every row sees: initial tokens and those
/// blocks, the same rows in all lists.
void ContextBlocks::open_blocks(const LayerStep& step, const RowList& chosen) {
  Queue& queue = *step.queue;
  cached_[static_cast<size_t>(step.layer)].use_blocks(
      queue, *step.store, step.layer, {split_.init, split_.remainder, o_.block}, chosen, o_.cached);
  far_rows_ =
      block_rows(queue, retrieves_ ? split_.init : 0, chosen, o_.block, split_.init, far_list_);
}

/// What every row sees, and tokens that are too old for its window.
void ContextBlocks::add_far_keys(const LayerStep& step, int head) {
  KeySegment whole;
  whole.rows = step.store->rows(step.layer, head);
  whole.index = far_rows_.rows;
  whole.live = far_rows_.count;
  whole.count = far_rows_.most();
  whole.visible = Visibility::kAll;
  whole.query = 1;
  segments_.push_back(whole);

  KeySegment aged;
  aged.rows = whole.rows;
  aged.begin = split_.remainder;
  const int64_t end = step.begin + step.rows - o_.local;
  aged.count = retrieves_ ? std::max<int64_t>(0, end - split_.remainder) : 0;
  aged.position = split_.remainder - near_begin_;
  aged.visible = Visibility::kBeyond;
  aged.window = o_.local;
  aged.query = 1;
  segments_.push_back(aged);
}

void ContextBlocks::run(LayerStep& step, int segments_per_head) {
  step.attend(forms_, segments_, segments_per_head, rotations_, near_position_);
}

void ContextBlocks::attend(LayerStep& step, const RowList& chosen) {
  open_blocks(step, chosen);
  segments_.clear();
  for (int head = 0; head < step.kv_heads; ++head) {
    segments_.push_back(near_keys(step, head));
    add_far_keys(step, head);
  }
  run(step, 3);
}

void ContextBlocks::attend_near(LayerStep& step) {
  segments_.clear();
  for (int head = 0; head < step.kv_heads; ++head) segments_.push_back(near_keys(step, head));
  run(step, 1);
}

void ContextBlocks::attend_far(LayerStep& step, const RowList& chosen) {
  open_blocks(step, chosen);
  segments_.clear();
  for (int head = 0; head < step.kv_heads; ++head) add_far_keys(step, head);
  // The same rows, their results apart; then one softmax over both.
  const View<float> out = step.out, lse = step.lse;
  step.out = far_out_.resize(*step.queue, out.size());
  step.lse = far_lse_.resize(*step.queue, lse.size());
  run(step, 2);
  step.out = out;
  step.lse = lse;
  merge_attention(*step.queue, far_out_.view(), far_lse_.view(), step.rows, shape_.heads,
                  shape_.head_dim, out, lse);
}

void ContextBlocks::vote(LayerStep& step) {
  LH_ASSERT(retrieves_ && !voted_);
  SlidingRows& votes = this->votes(step);
  LH_ASSERT(votes.rows() == step.begin - split_.remainder);
  const int64_t begin = std::max(near_begin_, split_.remainder);
  const int64_t keys = step.begin + step.rows - begin;
  votes.append_zeros(*step.queue, step.rows);
  add_window_sums(step, begin, keys);
  add_transposed(*step.queue, sums_.view(), keys, votes.part(begin - split_.remainder, keys));
  voted_ = true;
}

/// sums_ [heads, keys]: the probability that each of `keys` tokens from `begin` on got within the
/// rows' windows.
void ContextBlocks::add_window_sums(const LayerStep& step, int64_t begin, int64_t keys) {
  fill(*step.queue, sums_.resize(*step.queue, keys * shape_.heads), 0);
  segments_.clear();
  tasks_.clear();
  targets_.clear();
  for (int head = 0; head < step.kv_heads; ++head) {
    KeySegment& near = segments_.emplace_back(near_keys(step, head));
    near.begin = begin;
    near.position = begin - near_begin_;
    near.count = keys;
  }
  const int group = step.group();
  for (int head = 0; head < step.kv_heads; ++head) {
    AttendTask task;
    task.head_begin = head * group;
    task.head_count = group;
    task.row_count = step.rows;
    task.row_position = near_position_;
    task.segments = {&segments_[static_cast<size_t>(head)], 1};
    tasks_.push_back(task);
    ColumnTarget target;
    target.sums = sums_.view().part(head * group * keys, group * keys);
    target.per_head = true;
    targets_.push_back(target);
  }
  column_sums(near_call(step), tasks_, targets_);
}

AgedBlock ContextBlocks::aged(const LayerStep& step, int64_t number) {
  LH_ASSERT(voted_ && number < aged());
  const int64_t first = next_.init + (split_.blocks + number) * o_.block;
  return {first, votes(step).part(first - split_.remainder, o_.block)};
}

void ContextBlocks::end(LayerStep& step) {
  if (voted_) votes(step).drop_first(*step.queue, next_.remainder - split_.remainder);
  spill_aged(step);
}

/// Tokens have left the remainder: pages that became whole go to the slower tier.
void ContextBlocks::spill_aged(const LayerStep& step) const {
  const int64_t begin = split_.remainder, end = next_.remainder;
  const int64_t from = std::max(begin - step.store->layout().page_rows + 1, o_.init);
  if (begin == end || from >= end) return;
  for (int head = 0; head < step.kv_heads; ++head) step.store->spill(step.layer, head, from, end);
}

void ContextBlocks::rotate_far(Queue& queue, View<float> x) const {
  apply_rope_constant(queue, angle_table_.view(), o_.angle(), x, 1, shape_.heads, shape_.head_dim,
                      x);
}

void ContextBlocks::archive(Archive& archive) {
  for (SlidingRows& votes : votes_) votes.archive(archive);
}

void ContextBlocks::check(const KvStore& store, int64_t tokens,
                          const std::function<bool(int layer)>& has_votes) const {
  const ContextSplit split = split_context(o_, tokens);
  for (int layer = 0; layer < shape_.layers; ++layer) {
    for (int head = 0; head < shape_.lists(layer); ++head) {
      expect_length(store, layer, head, tokens);
    }
    expect_in_memory(store, layer, 0, split.init);
    expect_in_memory(store, layer, split.remainder, tokens);
    const int64_t held = votes_[static_cast<size_t>(layer)].numbers();
    const int64_t votes = has_votes(layer) ? (tokens - split.remainder) * shape_.heads : 0;
    if (held == votes) continue;
    user_error("layer {} has {} votes of its tokens, expected {}", layer, held, votes);
  }
}

}  // namespace longhaul
