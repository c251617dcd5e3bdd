#include "attention/parts/sparse_prefill.h"

#include <algorithm>

#include "attention/parts/dense_rows.h"
#include "base/clock.h"

namespace longhaul {
namespace {

constexpr int kTilesAtOnce = 256;  // whose key lists exist at a time, so that they stay in cache

}  // namespace

Plan SparsePrefill::plan(int, int, int64_t) const {
  Plan plan;
  plan.see = {.tile = tile_, .chosen = true};
  return plan;
}

void SparsePrefill::attend(LayerStep& step) {
  const int dense = dense_rows(step);
  const Stopwatch watch;
  const bool sparse = dense < step.rows && choose(step, dense, new_rules(step));
  step.workspace->seconds += watch.seconds();
  if (!sparse) return attend_dense_rows(step, step.rows);
  step.chose = true;
  if (dense > 0) attend_dense_rows(step, dense);
  attend_tiles(step, dense);
}

int SparsePrefill::dense_rows(const LayerStep& step) const {
  if (step.decoding() || step.own_window() > 0) return step.rows;
  const int64_t end = (dense_below_ + tile_ - 1) / tile_ * tile_;
  return static_cast<int>(std::clamp<int64_t>(end - step.begin, 0, step.rows));
}

std::span<TileRule> SparsePrefill::new_rules(LayerStep& step) {
  const TileGrid on = grid(step);
  marks_.resize(*step.queue, step.shape->heads * on.tiles() * on.blocks());
  rules_.assign(static_cast<size_t>(step.shape->heads), {});
  return rules_;
}

View<uint8_t> SparsePrefill::mark_blocks(const LayerStep& step, int head, int count,
                                         std::span<TileRule> rules) {
  const int64_t each = grid(step).tiles() * grid(step).blocks();
  for (int h = head; h < head + count; ++h) {
    TileRule& rule = rules[static_cast<size_t>(h)];
    rule.kind = TileRule::Kind::kBlocks;
    rule.blocks = marks_.view().part(h * each, each);
  }
  return marks_.view().part(head * each, count * each);
}

void SparsePrefill::attend_tiles(LayerStep& step, int first) {
  const View<const float> queries[] = {step.rotated_q()};
  const TileGrid on = grid(step);
  lists_.clear();
  for (int h = 0; h < step.kv_heads; ++h) lists_.push_back(step.store->rows(step.layer, h));
  const int tiles_per_head = std::max(1, kTilesAtOnce / step.shape->heads);
  for (int64_t row = first; row < step.rows;) {
    const int64_t end = on.row_end(on.tile_of(row) + tiles_per_head - 1);
    const Stopwatch watch;
    const auto tasks = tile_lists(*step.queue, on, row, end, rules_, lists_, tiles_);
    step.workspace->seconds += watch.seconds();
    step.attend(queries, tasks);
    row = end;
  }
}

}  // namespace longhaul
