#include "attention/context_blocks.h"

#include <algorithm>
#include <numeric>

#include "attention/restored_lists.h"
#include "base/byte_stream.h"
#include "base/error.h"
#include "ops/column_sums.h"
#include "ops/merge_attention.h"

namespace longhaul {
namespace {

int32_t narrow(int64_t row) { return static_cast<int32_t>(row); }

}  // namespace

BlockOptions block_options(std::string_view method, const MethodOptions& options) {
  BlockOptions o;
  o.init = options.integer("n_init");
  o.local = options.integer("n_local");
  o.block = options.integer("block");
  o.topk = options.integer("topk");
  o.chunk = options.integer("chunk");
  o.cached = options.integer("cached");
  o.angle = options.text("fidelity") == "repo" ? o.local - 1 : o.local;
  if (o.cached < o.topk) {
    user_error(
        "--attention {}: cached={}: must be at least topk = {}: a step's blocks are in memory "
        "together",
        method, o.cached, o.topk);
  }
  return o;
}

ContextSplit split_context(const BlockOptions& o, int64_t tokens) {
  ContextSplit split;
  const int64_t old = std::max<int64_t>(0, tokens - o.local);
  split.init = std::min(old, o.init);
  split.blocks = (old - split.init) / o.block;
  split.remainder = split.init + split.blocks * o.block;
  return split;
}

std::vector<Pass> passes_with_last(const PromptFacts& prompt, int64_t chunk, int64_t last) {
  const int64_t rows = std::min<int64_t>(chunk, prompt.chunk);
  const int64_t before = std::max<int64_t>(0, prompt.tokens - last);
  std::vector<Pass> passes;
  for (int64_t begin = 0; begin < prompt.tokens; begin += passes.back().count) {
    const int64_t end = begin < before ? before : prompt.tokens;
    passes.push_back({begin, std::min(rows, end - begin)});
  }
  return passes;
}

ContextBlocks::ContextBlocks(const BlockOptions& options, const ModelShape& shape)
    : o_(options),
      shape_(shape),
      votes_(static_cast<size_t>(shape.layers)),
      cached_(static_cast<size_t>(shape.layers)) {}

void ContextBlocks::begin(LayerStep& step) {
  split_ = split_context(o_, step.begin);
  retrieves_ = shape_.own_window(step.layer) == 0;
  step.store->append(step.layer, step.rows, step.k, step.v);

  near_begin_ = std::max<int64_t>(0, step.begin - o_.local + 1);
  near_position_ = step.begin - near_begin_;
  rotations_ = &rotation_table_.up_to(step.shape->rope, near_position_ + step.rows);
  step.rotated(step.q, shape_.heads, *rotations_, near_position_, near_q_);
  step.rotated_constant(step.q, shape_.heads, angle_table_.fill(step.shape->rope, o_.angle, 1),
                        o_.angle, far_q_);
  lse_.resize(static_cast<size_t>(step.rows * shape_.heads));
  step.lse = lse_.data();
}

KeySegment ContextBlocks::near_keys(const LayerStep& step, int head) const {
  const int64_t window = shape_.own_window(step.layer);
  KeySegment near;
  near.rows = step.store->rows(step.layer, head);
  near.begin = near_begin_;
  near.count = step.begin + step.rows - near_begin_;
  near.rotate = true;
  near.visible = Visibility::kWindow;
  near.window = window > 0 ? std::min(window, o_.local) : o_.local;
  return near;
}

/// Brings the chosen blocks into memory and lists what every row sees: initial tokens and those
/// blocks, the same rows in all lists.
void ContextBlocks::open_blocks(const LayerStep& step, std::span<const int32_t> chosen) {
  make_resident(step, chosen);
  far_rows_.resize(static_cast<size_t>(retrieves_ ? split_.init : 0));
  std::iota(far_rows_.begin(), far_rows_.end(), 0);
  for (const int32_t block : chosen) {
    const size_t at = far_rows_.size();
    far_rows_.resize(at + static_cast<size_t>(o_.block));
    std::iota(far_rows_.begin() + static_cast<std::ptrdiff_t>(at), far_rows_.end(),
              narrow(split_.init + block * o_.block));
  }
}

/// What every row sees, and tokens that are too old for its window.
void ContextBlocks::add_far_keys(const LayerStep& step, int head) {
  KeySegment whole;
  whole.rows = step.store->rows(step.layer, head);
  whole.index = far_rows_.data();
  whole.count = static_cast<int64_t>(far_rows_.size());
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
  const float* queries[] = {near_q_.data(), far_q_.data()};
  step.attend(queries, segments_, segments_per_head, rotations_, near_position_);
}

void ContextBlocks::attend(LayerStep& step, std::span<const int32_t> chosen) {
  open_blocks(step, chosen);
  segments_.clear();
  for (int head = 0; head < step.kv_heads; ++head) {
    segments_.push_back(near_keys(step, head));
    add_far_keys(step, head);
  }
  run(step, 3);
}

void ContextBlocks::attend(LayerStep& step, const std::function<std::vector<int32_t>()>& choose) {
  segments_.clear();
  for (int head = 0; head < step.kv_heads; ++head) segments_.push_back(near_keys(step, head));
  run(step, 1);
  open_blocks(step, choose());
  segments_.clear();
  for (int head = 0; head < step.kv_heads; ++head) add_far_keys(step, head);
  far_lse_.resize(lse_.size());
  far_out_.resize(lse_.size() * static_cast<size_t>(shape_.head_dim));
  LayerStep far = step;  // the same rows, their results apart
  far.out = far_out_.data();
  far.lse = far_lse_.data();
  run(far, 2);
  merge_attention(far_out_.data(), far_lse_.data(), step.rows, shape_.heads, shape_.head_dim,
                  step.out, lse_.data());
}

void ContextBlocks::make_resident(const LayerStep& step, std::span<const int32_t> chosen) {
  BlockCache& cache = cached_[static_cast<size_t>(step.layer)];
  const int64_t per_page = step.store->layout().page_rows;
  cache.begin_step(static_cast<size_t>(o_.cached * ((o_.block + per_page - 1) / per_page)));
  for (const int32_t block : chosen) {
    const int64_t first = split_.init + block * o_.block;
    cache.use(*step.store, step.layer, first, first + o_.block, split_.init, split_.remainder);
  }
  cache.end_step(*step.store, step.layer);
}

void ContextBlocks::end(LayerStep& step, const std::function<void(const AgedBlock&)>& aged) {
  const int64_t heads = shape_.heads;
  const ContextSplit next = split_context(o_, step.begin + step.rows);
  if (retrieves_ && aged) {
    std::vector<float>& votes = votes_[static_cast<size_t>(step.layer)];
    LH_ASSERT(votes.size() == static_cast<size_t>((step.begin - split_.remainder) * heads));
    add_votes(step);
    const auto token = [&](int64_t t) { return votes.data() + (t - split_.remainder) * heads; };
    for (int64_t b = split_.blocks; b < next.blocks; ++b) {
      const int64_t first = next.init + b * o_.block;
      aged({b, first, {token(first), static_cast<size_t>(o_.block * heads)}});
    }
    votes.erase(votes.begin(), votes.begin() + static_cast<std::ptrdiff_t>(
                                                   (next.remainder - split_.remainder) * heads));
  }
  spill_aged(step, split_.remainder, next.remainder);
}

AttendCall ContextBlocks::near_call(const LayerStep& step, const float* const& queries) const {
  AttendCall call = step.call({&queries, 1}, rotations_);
  call.known_lse = lse_.data();
  return call;
}

/// Adds the probability that remainder tokens got within the rows' windows.
void ContextBlocks::add_votes(const LayerStep& step) {
  std::vector<float>& votes = votes_[static_cast<size_t>(step.layer)];
  const int64_t begin = std::max(near_begin_, split_.remainder);
  const int64_t keys = step.begin + step.rows - begin, heads = shape_.heads;
  votes.resize(votes.size() + static_cast<size_t>(step.rows * heads));
  sums_.assign(static_cast<size_t>(keys * heads), 0.0f);  // [heads, keys]

  const float* queries = near_q_.data();
  const AttendCall call = near_call(step, queries);
  std::vector<KeySegment> segments;
  std::vector<AttendTask> tasks;
  std::vector<ColumnTarget> targets;
  for (int head = 0; head < step.kv_heads; ++head) {
    KeySegment& near = segments.emplace_back(near_keys(step, head));
    near.begin = begin;
    near.position = begin - near_begin_;
    near.count = keys;
  }
  for (int head = 0; head < step.kv_heads; ++head) {
    const int first = head * step.group();
    tasks.push_back({first,
                     step.group(),
                     0,
                     step.rows,
                     near_position_,
                     {&segments[static_cast<size_t>(head)], 1}});
    targets.push_back({sums_.data() + first * keys, nullptr, true});
  }
  column_sums(call, tasks, targets);
  float* to = votes.data() + (begin - split_.remainder) * heads;
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t j = 0; j < keys; ++j)
      to[j * heads + h] += sums_[static_cast<size_t>(h * keys + j)];
  }
}

/// Tokens [begin, end) have left the remainder: pages that became whole go to the slower tier.
void ContextBlocks::spill_aged(LayerStep& step, int64_t begin, int64_t end) const {
  const int64_t from = std::max(begin - step.store->layout().page_rows + 1, o_.init);
  if (begin == end || from >= end) return;
  for (int head = 0; head < step.kv_heads; ++head) step.store->spill(step.layer, head, from, end);
}

void ContextBlocks::rotate_far(float* x) const {
  apply_rope_constant(angle_table_.view(), o_.angle, x, 1, shape_.heads, shape_.head_dim, x);
}

size_t ContextBlocks::most_kv_bytes(const KvLayout& layout, int64_t tokens, int chunk) const {
  // Blocks that are chosen are loaded before those that leave are spilled.
  const int64_t blocks = (o_.cached + o_.topk) * (o_.block + 2 * layout.page_rows);
  const int64_t most = o_.init + o_.local + o_.block + chunk + 2 * layout.page_rows + blocks;
  return layout.bytes_for(std::min(tokens, most));
}

void ContextBlocks::save(ByteWriter& out) const {
  for (const auto& votes : votes_) out.array(std::span<const float>(votes));
}

void ContextBlocks::restore(ByteReader& in) {
  for (auto& votes : votes_) votes = in.array<float>();
}

void ContextBlocks::check_restored(const KvStore& store, int64_t tokens,
                                   const std::function<bool(int layer)>& has_votes) const {
  const ContextSplit split = split_context(o_, tokens);
  for (int layer = 0; layer < shape_.layers; ++layer) {
    for (int head = 0; head < shape_.kv_heads[static_cast<size_t>(layer)]; ++head) {
      expect_length(store, layer, head, tokens);
    }
    expect_in_memory(store, layer, 0, split.init);
    expect_in_memory(store, layer, split.remainder, tokens);
    const int64_t votes = has_votes(layer) ? (tokens - split.remainder) * shape_.heads : 0;
    if (std::ssize(votes_[static_cast<size_t>(layer)]) == votes) continue;
    user_error("layer {} has {} votes of its tokens, expected {}", layer,
               votes_[static_cast<size_t>(layer)].size(), votes);
  }
}

}  // namespace longhaul
