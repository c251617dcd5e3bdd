// The GPU's operations of this folder.

#include <algorithm>

#include "ops/attention/engine_pages.gpu.h"
#include "ops/attention/gather_keys.gpu.h"
#include "ops/attention/scratch_pages.gpu.h"
#include "ops/choose/mean_blocks.gpu.h"
#include "ops/choose/mean_blocks.h"
#include "ops/choose/pool_scores.h"
#include "ops/choose/select_rows.gpu.h"
#include "ops/choose/tile_keys.gpu.h"
#include "ops/choose/tile_lists.h"
#include "ops/core/gpu/operations.gpu.h"
#include "ops/core/score_vectors.gpu.h"
#include "ops/maps/score_plan.h"

namespace longhaul::cuda {
namespace {

/// Limit for the columns of all heads in a call: 256 heads with a thousand columns of 128 elements.
constexpr size_t kMostCopiedBytes = size_t{128} << 20;

void run_select_rows(GpuQueue& queue, std::span<const View<const float>> scores,
                     const RowsToKeep& keep, std::span<const View<int32_t>> rows) {
  std::vector<SelectTask> tasks;
  for (size_t l = 0; l < scores.size(); ++l) {
    tasks.push_back({scores[l].address(), scores[l].size(), keep.first, keep.last, keep.count,
                     rows[l].address()});
  }
  select_rows(queue.handle(), tasks);
}

void run_choose_lines(GpuQueue& queue, std::span<const LineTask> tasks, int tile) {
  std::vector<LinesTask> lines;
  for (const LineTask& task : tasks) {
    LineChoice& chosen = *task.chosen;
    const auto select = [](View<const float> scores, int64_t forced, int64_t count,
                           View<int32_t> rows) {
      return SelectTask{scores.address(),        scores.size(), std::min(forced, scores.size()), 0,
                        std::max(forced, count), rows.address()};
    };
    const View<int32_t> distances = chosen.diagonal_rows.rows.view();
    lines.push_back(
        {select(task.columns, kForcedColumns, task.vertical, chosen.column_rows.rows.view()),
         select(task.diagonals, kForcedDiagonals, task.slash, distances),
         {distances.address(), static_cast<int32_t>(distances.size()), tile,
          chosen.runs.view().address(), chosen.run_count.view().address()}});
  }
  choose_lines(queue.handle(), lines, queue.own<ScoreScratch>());
}

void run_list_tile_keys(GpuQueue& queue, int tile, int page_rows,
                        std::span<const DeviceTile> tiles) {
  std::vector<TileTask> tasks;
  for (const DeviceTile& each : tiles) {
    TileTask task{};
    if (const LineChoice* lines = each.rule->lines) {
      task.columns = lines->columns.rows.address();
      task.column_count = static_cast<int32_t>(lines->columns.most());
      task.runs = lines->runs.view().address();
      task.run_count = lines->run_count.view().address();
    } else {
      task.blocks = each.blocks.address();
    }
    task.own = each.own;
    task.position = each.position;
    task.tile = tile;
    task.pages = tile / page_rows;
    task.own_keys = each.own_keys;
    task.index = each.listed.address();
    task.counts = each.counts.address();
    tasks.push_back(task);
  }
  list_tile_keys(queue.handle(), tasks, queue.own<ScoreScratch>());
}

bool run_reads_masks(GpuQueue& queue, const PagedRows& rows) {
  return rows.type == DType::BF16 && rows.head_dim <= 128 &&
         can_attend(rows.head_dim, rows.page_rows, rows.type) && !rows.values_in_keys &&
         rows.pages != nullptr && rows.listed != nullptr &&
         engine_pages(queue, rows.head_dim).holds(rows.pages[0], rows.head_dim);
}

/// The columns that were copied last.
struct Columns {
  explicit Columns(GpuQueue& queue) : pages(queue), records(queue) {}
  ScratchPages pages;
  Room records;
};

bool run_copy_columns(GpuQueue& queue, std::span<CopiedColumns> heads) {
  int head_dim = 0;  // largest head_dim of the heads that have columns
  for (const CopiedColumns& head : heads) head_dim = std::max(head_dim, head.from.head_dim);
  if (head_dim == 0) return false;
  auto& [pages_there, records] = queue.own<Columns>();
  pages_there.set_form(head_dim, kMostCopiedBytes);
  std::vector<GatherRecord> gathered;
  int64_t used = 0;
  for (CopiedColumns& head : heads) {
    const int64_t pages = (head.columns.size() + kPageRows - 1) / kPageRows;
    if (!pages_there.reserve(used + pages)) return false;
    head.to = pages_there.rows_from(used);
    if (pages == 0) continue;
    KeySegment columns;
    columns.rows = head.from;
    columns.index = head.columns;
    columns.count = head.columns.size();
    columns.visible = Visibility::kAll;
    GatherRecord record{};
    const bool written = write_segment(columns, record.keys);
    LH_ASSERT(written);
    record.to = pages_there.listed_from(used);
    record.first_block = static_cast<int32_t>(used);
    gathered.push_back(record);
    used += pages;
  }
  if (gathered.empty()) return true;
  gather_keys(queue.handle(), records.upload(std::span<const GatherRecord>(gathered)),
              static_cast<int>(gathered.size()), static_cast<int>(used), head_dim, {});
  return true;
}

void run_list_tile_pages(GpuQueue& queue, std::span<const TilePages> tiles) {
  const auto there = [](const MaskedPages& list) {
    return SeenPages{list.pages.address(), list.masks.address(), list.keys.address()};
  };
  std::vector<PageTask> tasks;
  for (const TilePages& tile : tiles) {
    const LineChoice& lines = *tile.lines;
    tasks.push_back({.columns = lines.columns.rows.address(),
                     .runs = lines.runs.view().address(),
                     .run_count = lines.run_count.view().address(),
                     .position = tile.position,
                     .column_count = static_cast<int32_t>(lines.columns.rows.size()),
                     .rows = {tile.rows[0], tile.rows[1]},
                     .text = there(tile.text),
                     .copies = there(tile.copies),
                     .pairs = tile.pairs.address()});
  }
  list_tile_pages(queue.handle(), tasks, queue.own<ScoreScratch>());
}

struct MeanRooms {
  explicit MeanRooms(GpuQueue& queue) : scratch(queue), tasks(queue) {}
  Room scratch, tasks;
};

bool run_choose_mean_blocks(GpuQueue& queue, const TiledRows& rows, int64_t first,
                            std::span<const MeanBlocks> tasks) {
  if (rows.head_dim > kMostMeanDim) return false;
  auto& [scratch, sent] = queue.own<MeanRooms>();
  std::vector<MeanBlocksTask> uploaded;
  for (const MeanBlocks& task : tasks) {
    uploaded.push_back({task.count, task.means.address(), task.seen.address(), task.head});
  }
  const TileGrid& grid = rows.grid;
  const int64_t from = grid.tile_of(first);
  const int64_t numbers = std::ssize(tasks) * (grid.blocks() - from) * grid.blocks();
  scratch.at_least(static_cast<size_t>(numbers) * (sizeof(float) + sizeof(int32_t)));
  auto* const scores = static_cast<float*>(scratch.data);
  choose_mean_blocks(queue.handle(),
                     {.queries = rows.queries.address(),
                      .heads = rows.heads,
                      .head_dim = rows.head_dim,
                      .grid = grid,
                      .first_tile = from,
                      .tasks = sent.upload(std::span<const MeanBlocksTask>(uploaded)),
                      .task_count = static_cast<int>(tasks.size()),
                      .scores = scores,
                      .chosen = reinterpret_cast<int32_t*>(scores + numbers)});
  return true;
}

}  // namespace

void implement_choose(GpuQueue& queue) {
  queue.implement(kPoolScores, [](GpuQueue& on, View<const float> scores, int width,
                                  Pooling pooling, View<float> out) {
    pool_scores(on.handle(), scores.address(), scores.size(), width, pooling == Pooling::kMax,
                out.address());
  });
  queue.implement(kSelectRows, run_select_rows);
  queue.implement(kChooseLines, run_choose_lines);
  queue.implement(kListTileKeys, run_list_tile_keys);
  queue.implement(kReadsMasks, run_reads_masks);
  queue.implement(kCopyColumns, run_copy_columns);
  queue.implement(kListTilePages, run_list_tile_pages);
  queue.implement(kChooseMeanBlocks, run_choose_mean_blocks);
}

}  // namespace longhaul::cuda
