#include "attention/parts/context_blocks.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/nth.h"
#include "kv/list_checks.h"
#include "ops/attention/merge_attention.h"
#include "ops/blocks/block_rows.h"
#include "ops/blocks/key_vectors.h"

namespace longhaul {

void BlockOptions::declare_sizes(OptionList& o, int64_t most_of_block) {
  o.integer(init, "n_init", 0, 1 << 20, "tokens", "first tokens of the context, seen by every row");
  o.integer(
      n_local, "n_local", 1, 1 << 24, "tokens",
      "last tokens that a row sees, itself among them; auto: an eighth of the trained length, "
      "1,024 to 4,096");
  o.integer(block, "block", 1, most_of_block, "tokens", "tokens of a block");
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

void BlockOptions::fit(const ModelShape& shape) {
  constexpr int64_t kLeast = 1024, kMost = 4096;
  const int64_t trained = shape.trained_context > 0 ? shape.trained_context : 8 * kMost;
  local = n_local.value_or(std::clamp(trained / 8, kLeast, kMost));
}

void BlockOptions::check(std::string_view method) const {
  if (cached >= topk) return;
  user_error(
      "--attention {}: cached={}: must be at least topk = {}: a step's blocks are in memory "
      "together",
      method, cached, topk);
}

ContextBlocks::ContextBlocks(const BlockOptions& options, const ModelShape& shape)
    : o_(options), shape_(shape), cached_(static_cast<size_t>(shape.layers)) {
  for (int l = 0; l < shape.layers; ++l) votes_.emplace_back(shape.heads);
}

ListPlan ContextBlocks::plan() const {
  const KvLayout layout;
  const int64_t page = layout.page_rows, whole = layout.pages_for(o_.block);
  // A block that does not begin at a page boundary may have rows in one more page.
  const bool aligned = o_.init % page == 0 && o_.block % page == 0;
  const int64_t pages = std::max(o_.cached * whole, o_.topk * (aligned ? whole : whole + 1));
  const int64_t reach = std::max(o_.local, o_.angle());  // may equal the trained context length
  // The rows in memory form two ranges, each of which may have partly used pages at both ends.
  return {.keep = {.in_memory = o_.init + o_.local + o_.block + (pages + 4) * page},
          .see = {.reach = reach}};
}

size_t ContextBlocks::working_bytes(int64_t rows) const {
  const int64_t width = int64_t{shape_.heads} * shape_.head_dim;
  // On a device, all queries are also stored in bf16. For the keys at the constant distance, a step
  // stores its queries and outputs in f32. The buffer of the outputs may be larger than needed by a
  // half.
  return bytes_of(DType::BF16, rows * width) +
         bytes_of(DType::F32, std::min(rows, o_.chunk) * width) * 5 / 2;
}

void ContextBlocks::begin_prompt(const PromptFacts& prompt) {
  evidence_.clear();
  for (const int64_t token : prompt.evidence) {
    if (token < o_.init) continue;  // visible to every row
    const auto block = static_cast<int32_t>((token - o_.init) / o_.block);
    if (evidence_.empty() || evidence_.back() < block) evidence_.push_back(block);
  }
}

void ContextBlocks::begin_layer(LayerStep& all) {
  Queue& queue = *all.queue;
  first_ = near_begin(all);
  rotations_ = &all.list_rotations(position_of(all) + all.rows);
  far_rotation_ = &angle_table_.of(shape_, all.layer).fill(queue, all.rope(), o_.angle(), 1);
  const View<const float> q = all.queries_from(*rotations_, position_of(all), near_q_);
  lse_.resize(queue, int64_t{all.rows} * shape_.heads);
  rounded_q_.shrink(0);
  near_ = false;
  if (!all.of_several()) return;
  round_for_device(queue, q, rounded_q_);
  attend_near(all);
}

void ContextBlocks::attend_near(LayerStep& all) {
  if (near_) return;
  all.lse = lse_.view();
  near_segments(all);
  run_at_once(all, forms_of(all).first(1), 1);
  near_ = true;
}

void ContextBlocks::begin(LayerStep& step) {
  split_ = split_context(o_, step.begin);
  next_ = split_context(o_, step.begin + step.rows);
  retrieves_ = step.own_window() == 0;
  voted_ = false;
  step.queries_at(*far_rotation_, o_.angle(), far_q_);
  step.lse = step.part_of_all(lse_.view());
}

/// Returns the first token that is in a window of the step's rows.
int64_t ContextBlocks::near_begin(const LayerStep& step) const {
  return std::max<int64_t>(0, step.begin - o_.local + 1);
}

KeySegment ContextBlocks::near_keys(const LayerStep& step, int head) const {
  const int64_t window = step.own_window(), begin = near_begin(step);
  return {.rows = step.store->rows(step.layer, head),
          .begin = begin,
          .count = step.begin + step.rows - begin,
          .position = begin - first_,
          .rotate = true,
          .visible = Visibility::kWindow,
          .window = window > 0 ? std::min(window, o_.local) : o_.local};
}

/// Sets segments_ to the keys of the windows, one segment per KV head.
void ContextBlocks::near_segments(const LayerStep& step) {
  segments_.clear();
  for (int head = 0; head < step.kv_heads; ++head) segments_.push_back(near_keys(step, head));
}

WindowRows ContextBlocks::window_rows(const LayerStep& step) { return rows_from(step, step.begin); }

/// Returns the arguments for recomputing the attention of tokens from `begin` to the step's last
/// token to their windows.
WindowRows ContextBlocks::rows_from(const LayerStep& step, int64_t begin) {
  near_segments(step);
  const int64_t before = begin - step.together_begin, rows = step.begin + step.rows - begin;
  const int64_t heads = shape_.heads, width = heads * step.head_dim();
  near_form_ = near_q_.view().part(before * width, rows * width);
  WindowRows part{step.call({&near_form_, 1}, rotations_),
                  begin,
                  static_cast<int>(rows),
                  begin - first_,
                  first_,
                  segments_};
  part.call.lse_in = lse_.view().part(before * heads, rows * heads);
  if (rounded_q_.size() > 0) {
    part.call.rounded = rounded_q_.view().part(2 * before * width, 2 * rows * width);
  }
  return part;
}

/// Loads the selected blocks and the blocks of prompt.evidence into memory. Sets far_rows_ to the
/// initial tokens and these blocks.
void ContextBlocks::open_blocks(const LayerStep& step, const RowList& looked_up) {
  Queue& queue = *step.queue;
  const auto formed = std::ranges::lower_bound(evidence_, retrieves_ ? split_.blocks : 0);
  const RowList chosen = with_rows(queue, looked_up, {evidence_.begin(), formed}, with_evidence_);
  nth(cached_, step.layer)
      .use_blocks(queue, *step.store, step.layer, {split_.init, split_.remainder, o_.block}, chosen,
                  o_.cached);
  far_rows_ =
      block_rows(queue, retrieves_ ? split_.init : 0, chosen, o_.block, split_.init, far_list_);
}

/// Adds two segments for a KV head: the keys that all rows see (far_rows_), and the aged tokens,
/// which each row sees if they are too old for its window.
void ContextBlocks::add_far_keys(const LayerStep& step, int head) {
  const PagedRows rows = step.store->rows(step.layer, head);
  const int64_t aged = step.begin + step.rows - o_.local - split_.remainder;
  segments_.push_back({.rows = rows,
                       .count = far_rows_.most(),
                       .index = far_rows_.rows,
                       .visible = Visibility::kAll,
                       .query = 1,
                       .device_count = far_rows_.count});
  segments_.push_back({.rows = rows,
                       .begin = split_.remainder,
                       .count = retrieves_ ? std::max<int64_t>(0, aged) : 0,
                       .position = split_.remainder - first_,
                       .visible = Visibility::kBeyond,
                       .window = o_.local,
                       .query = 1});
}

std::span<const View<const float>> ContextBlocks::forms_of(const LayerStep& step) {
  forms_[0] = step.part_of_all(std::as_const(near_q_).view());
  forms_[1] = far_q_.view();
  return forms_;
}

void ContextBlocks::run(LayerStep& step, std::span<const View<const float>> forms,
                        int segments_per_head) {
  step.attend(forms, segments_, segments_per_head, rotations_, position_of(step));
}

/// Computes attention at once, also in a batch of sequences, because the result is read
/// immediately.
void ContextBlocks::run_at_once(LayerStep& step, std::span<const View<const float>> forms,
                                int segments_per_head) {
  AttendBatch* const batch = std::exchange(step.batch, nullptr);
  run(step, forms, segments_per_head);
  step.batch = batch;
}

void ContextBlocks::attend(LayerStep& step, const RowList& chosen) {
  open_blocks(step, chosen);
  segments_.clear();
  if (near_) return attend_far(step);  // begin_layer() or attend_near() has computed the windows
  for (int head = 0; head < step.kv_heads; ++head) {
    segments_.push_back(near_keys(step, head));
    add_far_keys(step, head);
  }
  run(step, forms_of(step), 3);
}

/// Computes the attention to the keys outside the windows, and merges it with the attention to the
/// windows.
void ContextBlocks::attend_far(LayerStep& step) {
  for (int head = 0; head < step.kv_heads; ++head) add_far_keys(step, head);
  if (std::ranges::all_of(segments_, [](const KeySegment& s) { return s.count == 0; })) return;
  const View<float> out = std::exchange(step.out, far_out_.resize(*step.queue, step.out.size()));
  const View<float> lse = std::exchange(step.lse, far_lse_.resize(*step.queue, step.lse.size()));
  step.sinks = false;  // the result for the windows includes them
  run_at_once(step, forms_of(step), 2);
  step.sinks = true;
  step.out = out;
  step.lse = lse;
  merge_attention(*step.queue, far_out_.view(), far_lse_.view(), step.rows, shape_.heads,
                  step.head_dim(), out, lse);
}

void ContextBlocks::vote(LayerStep& step) {
  LH_ASSERT(retrieves_ && !voted_);
  SlidingRows& votes = this->votes(step);
  LH_ASSERT(votes.rows() == step.begin - split_.remainder);
  votes.append_zeros(*step.queue, step.rows);
  voted_ = true;
  // A token is in the windows of the rows up to local - 1 positions after it. When the token leaves
  // the remainder, all these rows have been processed. One call adds the attention of all rows of
  // this batch.
  const int64_t begin = std::max(first_, split_.remainder);
  const int64_t end = step.ends_together() ? step.begin + step.rows : next_.remainder;
  if (begin >= end) return;
  const WindowRows rows = rows_from(step, std::max(step.together_begin, begin));
  add_window_sums(rows, begin, end - begin, votes.part(begin - split_.remainder, end - begin),
                  sums_);
}

AgedBlocks ContextBlocks::aged(const LayerStep& step, int64_t first, int64_t count) {
  LH_ASSERT(voted_ && first + count <= aged());
  const int64_t token = next_.init + (split_.blocks + first) * o_.block;
  return {token, votes(step).part(token - split_.remainder, count * o_.block)};
}

void ContextBlocks::end(LayerStep& step) {
  if (voted_) votes(step).drop_first(next_.remainder - split_.remainder);
  spill_whole_pages(*step.store, step.layer, o_.init, split_.remainder, next_.remainder);
}

void ContextBlocks::archive(Archive& archive) {
  for (SlidingRows& votes : votes_) votes.archive(archive);
}

void ContextBlocks::check(const KvStore& store, int64_t tokens, const LooksUp& looks_up,
                          const IndexFits& fits) const {
  const ContextSplit split = split_context(o_, tokens);
  for (int layer = 0; layer < shape_.layers; ++layer) {
    for (int head = 0; head < shape_.lists(layer); ++head) {
      expect_length(store, layer, head, tokens);
    }
    expect_in_memory(store, layer, 0, split.init);
    expect_in_memory(store, layer, split.remainder, tokens);
    const int64_t held = nth(votes_, layer).numbers();
    const int64_t votes = looks_up(layer) ? (tokens - split.remainder) * shape_.heads : 0;
    if (held != votes) {
      user_error("layer {} has {} votes of its tokens, expected {}", layer, held, votes);
    }
    if (!fits(layer, shape_.own_window(layer) == 0 ? split.blocks : 0)) {
      user_error("layer {} has an index of blocks of another context", layer);
    }
  }
}

}  // namespace longhaul
