#include "attention/sparse_prefill.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/parallel.h"
#include "ops/block_mass.h"
#include "ops/line_sums.h"
#include "ops/mean_keys.h"

namespace longhaul {
namespace {

constexpr int kTilesAtOnce = 256;  // whose key lists exist at a time

}  // namespace

std::vector<Pass> SparsePrefill::prepare(const PromptFacts& prompt) {
  LH_ASSERT(prompt.chunk > 0 && prompt.tokens >= 0);
  if (prompt.chunk < tile_) return AttentionMethod::prepare(prompt);
  const int64_t end = prompt.begin + prompt.tokens;
  const int64_t first = prompt.begin / tile_;
  const int64_t tiles = (end + tile_ - 1) / tile_ - first, cap = prompt.chunk / tile_;
  const int64_t count = (tiles + cap - 1) / cap;
  std::vector<Pass> passes;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t from = std::max(prompt.begin, (first + tiles * i / count) * tile_);
    const int64_t to = std::min(end, (first + tiles * (i + 1) / count) * tile_);
    passes.push_back({from - prompt.begin, to - from});
  }
  return passes;
}

void SparsePrefill::attend(LayerStep& step) {
  step.store->append(step.layer, step.rows, step.rotated_k(), step.v);
  const int dense = dense_rows(step);
  const Stopwatch watch;
  const bool sparse = dense < step.rows && estimate(step);
  step.workspace->seconds += watch.seconds();
  if (!sparse) return attend_dense(step, step.rows);
  if (dense > 0) attend_dense(step, dense);
  attend_tiles(step, dense);
}

int SparsePrefill::dense_rows(const LayerStep& step) const {
  const bool own_window = step.shape->own_window(step.layer) > 0;
  if (step.decoding || own_window) return step.rows;
  const int64_t end = dense_below_ <= 0 ? 0 : tile_end(dense_below_ - 1);
  return static_cast<int>(std::clamp<int64_t>(end - step.begin, 0, step.rows));
}

void SparsePrefill::attend_dense(LayerStep& step, int rows) {
  const float* queries[] = {step.rotated_q()};
  segments_.clear();
  tasks_.clear();
  for (int head = 0; head < step.kv_heads; ++head) segments_.push_back(step.all_keys(head));
  for (int head = 0; head < step.kv_heads; ++head) {
    tasks_.push_back({head * step.group(), step.group(), 0, rows, step.begin,
                      std::span<const KeySegment>(&segments_[static_cast<size_t>(head)], 1)});
  }
  step.attend(queries, tasks_);
}

std::vector<RowTile> SparsePrefill::tiles_of(const LayerStep& step, int begin, int end) const {
  std::vector<RowTile> tiles;
  for (int head = 0; head < step.shape->heads; ++head) {
    for (int row = begin; row < end;) {
      const int64_t position = step.begin + row;
      const int next = static_cast<int>(std::min<int64_t>(tile_end(position) - step.begin, end));
      tiles.push_back({head, row, next - row, position});
      row = next;
    }
  }
  return tiles;
}

void SparsePrefill::attend_tiles(LayerStep& step, int first) {
  const float* queries[] = {step.rotated_q()};
  std::vector<PagedRows> lists;
  for (int h = 0; h < step.kv_heads; ++h) lists.push_back(step.store->rows(step.layer, h));
  const int tiles_per_head = std::max(1, kTilesAtOnce / step.shape->heads);
  while (first < step.rows) {
    const int64_t stop = tile_end(step.begin + first) + (tiles_per_head - 1) * tile_;
    const int end = static_cast<int>(std::min<int64_t>(stop - step.begin, step.rows));
    const Stopwatch watch;
    const std::vector<RowTile> tiles = tiles_of(step, first, end);
    if (keys_.size() < tiles.size()) keys_.resize(tiles.size());
    parallel_for(static_cast<int64_t>(tiles.size()), [&](int64_t i, int) {
      const RowTile& tile = tiles[static_cast<size_t>(i)];
      TileKeys& keys = keys_[static_cast<size_t>(i)];
      keys.clear(tile.position);
      choose(step, tile, keys);
    });
    const auto tasks = tile_tasks(tiles, std::span<const TileKeys>(keys_).first(tiles.size()),
                                  lists, step.group(), segments_);
    step.workspace->seconds += watch.seconds();
    step.attend(queries, tasks);
    first = end;
  }
}

void SparsePrefill::average_keys(const LayerStep& step) {
  const int64_t keys = step.begin + step.rows, tiles = (keys + tile_ - 1) / tile_;
  means_.resize(static_cast<size_t>(step.kv_heads));
  for (int h = 0; h < step.kv_heads; ++h) {
    auto& of_head = means_[static_cast<size_t>(h)];
    of_head.resize(static_cast<size_t>(tiles * step.shape->head_dim));
    mean_keys(step.store->rows(step.layer, h), keys, tile_, of_head.data());
  }
}

void LastRows::look(const LayerStep& step, std::span<const float* const> queries, int most) {
  rows_ = std::min(step.rows, most);
  keys_ = step.begin + step.rows;
  const int group = step.group();
  const size_t lines = static_cast<size_t>(step.shape->heads * keys_);
  columns_.resize(lines);
  diagonals_.resize(lines);
  std::vector<KeySegment> segments;
  for (int h = 0; h < step.kv_heads; ++h) segments.push_back(step.all_keys(h));
  std::vector<AttendTask> tasks;
  std::vector<LineSums> sums;
  const int64_t each = rows_ * group * block_count(keys_, 128);
  std::vector<float> mass(static_cast<size_t>(step.kv_heads * each));
  std::vector<float*> masses;
  for (int h = 0; h < step.kv_heads; ++h) {
    tasks.push_back({h * group, group, step.rows - rows_, rows_, keys_ - rows_,
                     std::span<const KeySegment>(&segments[static_cast<size_t>(h)], 1)});
    masses.push_back(mass.data() + h * each);
    const int64_t first = h * group * keys_;
    sums.push_back({columns_.data() + first, diagonals_.data() + first});
  }
  lse_.resize(static_cast<size_t>(step.rows * step.shape->heads));
  AttendCall call = step.call(queries);
  call.lse = lse_.data();
  call.known_lse = lse_.data();
  block_mass(call, tasks, 128, masses);  // for the denominators
  line_sums(call, tasks, sums);
}

}  // namespace longhaul
