#include "attention/methods/flexprefill/flex_blocks.h"

#include <algorithm>
#include <cmath>

#include "base/on_device.h"
#include "base/parallel.h"
#include "ops/choose/mass_count.h"
#include "ops/maps/mean_keys.h"

namespace longhaul {
namespace {

/// Returns the Jensen-Shannon distance of two distributions: the square root of the divergence,
/// with natural logarithms.
double distance_of(std::span<const float> p, std::span<const float> q) {
  double sum = 0;
  const auto part = [](double x, double middle) { return x > 0 ? x * std::log(x / middle) : 0; };
  for (size_t i = 0; i < p.size(); ++i) {
    const double middle = (static_cast<double>(p[i]) + q[i]) / 2;
    sum += (part(p[i], middle) + part(q[i], middle)) / 2;
  }
  return std::sqrt(std::max(0.0, sum));
}

/// Selects the blocks of one head.
class HeadChoice {
 public:
  HeadChoice(Queue& queue, const TiledRows& rows, const FlexRule& rule, const FlexHead& head,
             FlexMemory::Worker& worker)
      : queue_(queue), rows_(rows), grid_(rows.grid), rule_(rule), head_(head), w_(worker) {}

  void run() {
    const std::span<float> columns = means_over_rows(head_.columns, w_.columns);
    const std::span<float> diagonals = means_over_rows(head_.diagonals, w_.diagonals);
    const View<float> column_bins = binned(columns, false, w_.column_bins);
    const View<float> diagonal_bins = binned(diagonals, true, w_.diagonal_bins);
    const bool pairs = distance_of(coarse_row(), host(column_bins)) < rule_.distance;

    std::fill_n(host(head_.seen).begin(), head_.seen.size(), uint8_t{0});
    const int64_t least = std::max<int64_t>(1, rule_.least);
    see_columns(column_bins, pairs ? least : std::max(least, budget(columns)));
    see_diagonals(diagonal_bins, pairs ? least : std::max(least, budget(diagonals)));
    if (pairs) see_pairs();
  }

 private:
  std::span<float> means_over_rows(View<const float> sums, Array<float>& memory) {
    const auto from = host(sums);
    const auto means = host(memory.resize(queue_, sums.size()));
    for (size_t i = 0; i < from.size(); ++i) {
      means[i] = from[i] / static_cast<float>(rule_.last_rows);
    }
    return means;
  }

  /// Divides `lines` [keys] (columns or diagonals) into bins of one block each, and returns the
  /// sums of the bins. Columns are in the order of the keys. Diagonals begin with the largest
  /// distance, so that the last bin has the smallest distances.
  View<float> binned(std::span<const float> lines, bool from_the_end, Array<float>& memory) {
    const View<float> view = memory.resize(queue_, grid_.blocks());
    const auto bins = host(view);
    std::fill(bins.begin(), bins.end(), 0.0f);
    const size_t block = static_cast<size_t>(grid_.tile);
    for (size_t i = 0; i < lines.size(); ++i) {
      bins[i / block] += lines[from_the_end ? lines.size() - 1 - i : i];
    }
    return view;
  }

  /// Counts lines (columns or diagonals), best first, until they hold the share rule_.mass of the
  /// attention. Returns one plus the number of blocks that so many lines fill.
  int64_t budget(std::span<float> lines) const {
    return (1 + count_within_mass(lines, rule_.mass)) / grid_.tile + 1;
  }

  /// Writes the attention (softmax) of the mean query of rows [from, to) to the mean keys of the
  /// first attention.size() blocks.
  void attend_means(int64_t from, int64_t to, View<float> attention) {
    const View<float> query = w_.query.resize(queue_, rows_.head_dim);
    mean_query(queue_, rows_.queries, rows_.heads, rows_.head_dim, head_.head, from, to, query);
    mean_scores(queue_, query, head_.means, attention.size(), rows_.head_dim, rule_.scale,
                attention);
    softmax_of(queue_, attention);
  }

  std::span<const float> coarse_row() {
    const View<float> attention = w_.coarse.resize(queue_, grid_.blocks());
    attend_means(grid_.rows - rule_.last_rows, grid_.rows, attention);
    return host(attention);
  }

  void see(int64_t tile, int64_t block) {
    host(head_.seen)[static_cast<size_t>((tile - grid_.first_tile()) * grid_.blocks() + block)] = 1;
  }

  /// Marks the `count` best blocks of columns, always including the first block.
  void see_columns(View<const float> bins, int64_t count) {
    const RowList best = select_rows(queue_, bins, {1, 0, count}, w_.selection);
    for (const int32_t block : host_rows(best)) {
      for (int64_t tile = std::max<int64_t>(block, grid_.first_tile()); tile < grid_.blocks();
           ++tile) {
        see(tile, block);
      }
    }
  }

  /// Marks the `count` best bins of diagonals, always including the one with the smallest
  /// distances.
  void see_diagonals(View<const float> bins, int64_t count) {
    const RowList best = select_rows(queue_, bins, {0, 1, count}, w_.selection);
    for (const int32_t bin : host_rows(best)) {
      // Distance from the tile to the block, in blocks.
      const int64_t back = grid_.blocks() - 1 - bin;
      for (int64_t tile = std::max(back, grid_.first_tile()); tile < grid_.blocks(); ++tile) {
        see(tile, tile - back);
      }
    }
  }

  void see_pairs() {
    const int64_t blocks = grid_.blocks(), tiles = grid_.tiles();
    const View<float> map = w_.pairs.resize(queue_, tiles * blocks);
    const auto numbers = host(map);
    std::fill(numbers.begin(), numbers.end(), 0.0f);
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t tile = grid_.first_tile() + t;
      attend_means(grid_.row_begin(tile), grid_.row_end(tile), map.part(t * blocks, tile + 1));
    }
    const auto sorted = host(w_.sorted.resize(queue_, map.size()));
    std::copy(numbers.begin(), numbers.end(), sorted.begin());
    const int64_t count = count_within_mass(sorted, rule_.mass * static_cast<double>(tiles));
    const RowList best = select_rows(queue_, map, {0, 0, count}, w_.selection);
    for (const int32_t at : host_rows(best)) {
      const int64_t tile = grid_.first_tile() + at / blocks, block = at % blocks;
      if (block <= tile) see(tile, block);
    }
  }

  Queue& queue_;
  const TiledRows& rows_;
  const TileGrid& grid_;
  const FlexRule& rule_;
  const FlexHead& head_;
  FlexMemory::Worker& w_;
};

}  // namespace

size_t FlexMemory::bytes_for(int64_t keys) {
  return static_cast<size_t>(2 * thread_count() * keys) * sizeof(float);
}

void choose_flex_blocks(Queue& queue, const TiledRows& rows, const FlexRule& rule,
                        std::span<const FlexHead> heads, FlexMemory& memory) {
  if (on_device(kChooseFlexBlocks, queue, rows, rule, heads)) return;
  if (!queue.on_host()) {
    HostStage on(queue);
    std::vector<FlexHead> here(heads.begin(), heads.end());
    for (FlexHead& head : here) {
      head.columns = on(head.columns);
      head.diagonals = on(head.diagonals);
      head.means = on(head.means);
      head.seen = on(head.seen);
    }
    return choose_flex_blocks(
        host_queue(), {on(rows.queries), rows.heads, rows.head_dim, rows.grid}, rule, here, memory);
  }
  LH_ASSERT(rule.last_rows > 0 && rule.last_rows <= rows.grid.rows);
  LH_ASSERT(rows.grid.tiles() * rows.grid.blocks() <= INT32_MAX);
  for (const FlexHead& head : heads) {
    LH_ASSERT(head.columns.size() == rows.grid.keys() && head.diagonals.size() == rows.grid.keys());
    LH_ASSERT(head.seen.size() == rows.grid.tiles() * rows.grid.blocks());
  }
  memory.workers.resize(std::max(memory.workers.size(), static_cast<size_t>(thread_count())));
  parallel_for(static_cast<int64_t>(heads.size()), [&](int64_t i, int thread) {
    HeadChoice(queue, rows, rule, heads[static_cast<size_t>(i)],
               memory.workers[static_cast<size_t>(thread)])
        .run();
  });
}

}  // namespace longhaul
