#include "ops/core/gpu/cuda_choices.gpu.h"

#include <algorithm>

#include "ops/choose/row_rules.gpu.h"
#include "ops/choose/select_rows.gpu.h"
#include "ops/core/elementwise.gpu.h"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/core/score_vectors.gpu.h"
#include "ops/maps/block_mass.gpu.h"
#include "ops/maps/column_sums.gpu.h"
#include "ops/maps/expected_attention.gpu.h"
#include "ops/maps/line_sums.gpu.h"
#include "ops/maps/score_plan.h"
#include "ops/maps/staged_top_keys.gpu.h"
#include "ops/maps/stored_keys.gpu.h"
#include "ops/maps/tile_maps.gpu.h"
#include "ops/maps/top_keys.gpu.h"

namespace longhaul::cuda {
namespace {

/// Limit for the columns of all heads in a call: 256 heads with a thousand columns of 128 elements.
constexpr size_t kMostCopiedBytes = size_t{128} << 20;

}  // namespace

bool CudaChoices::column_sums(const AttendCall& call, std::span<const AttendTask> tasks,
                              std::span<const ColumnTarget> targets) {
  return cuda::column_sums(stream(), call, tasks, targets, scores_);
}

bool CudaChoices::line_sums(const AttendCall& call, std::span<const AttendTask> tasks,
                            std::span<const LineSums> sums) {
  return cuda::line_sums(stream(), call, tasks, sums, scores_);
}

bool CudaChoices::block_mass(const AttendCall& call, std::span<const AttendTask> tasks, int block,
                             std::span<const View<float>> masses) {
  return cuda::block_mass(stream(), call, tasks, block, masses, scores_);
}

bool CudaChoices::tile_maps(const AttendCall& call, std::span<const MapTile> tiles) {
  return cuda::tile_maps(stream(), call, tiles, scores_);
}

bool CudaChoices::top_keys(const TopKeysCall& call, std::span<const TopKeysTask> tasks) {
  const auto search = [&](std::span<const TopKeysTask> some) {
    return cuda::top_keys(stream(), call, some, engine_pages(call.head_dim), scores_);
  };
  return can_stage_top_keys(call, tasks) ? stage_top_keys(staged_, call, tasks, search)
                                         : search(tasks);
}

int CudaChoices::gather_lists(std::span<const PagedRows> lists, int64_t keys, int64_t rows,
                              std::span<PagedRows> to) {
  return staged_.gather_lists(lists, keys, rows, to);
}

bool CudaChoices::mean_keys(const PagedRows& rows, int64_t count, int block, View<float> out) {
  return cuda::mean_keys(stream(), rows, count, block, out);
}

bool CudaChoices::add_query_moments(View<const float> q, int64_t rows, int heads, int head_dim,
                                    QueryMoments& moments) {
  return cuda::add_query_moments(stream(), q, rows, heads, head_dim, moments);
}

bool CudaChoices::expected_attention(const ExpectedQueries& queries, const PagedRows& rows,
                                     int64_t first_row, int head_begin, int head_count,
                                     View<float> scores) {
  return cuda::expected_attention(stream(), queries, rows, first_row, head_begin, head_count,
                                  scores, scores_);
}

bool CudaChoices::key_difference(const PagedRows& rows, View<float> scores) {
  return !scores.place().host() && cuda::key_difference(stream(), rows, scores, scores_);
}

bool CudaChoices::fill(View<float> x, float value) {
  if (x.place().host()) return false;
  cuda::fill(stream(), x.address(), x.size(), value);
  return true;
}

bool CudaChoices::add_lists(View<const float> x, View<float> out) {
  if (out.empty() || x.place().host() || out.place().host()) return false;
  cuda::add_lists(stream(), x.address(), x.size() / out.size(), out.size(), out.address());
  return true;
}

bool CudaChoices::mean_rows(View<const float> x, View<float> out) {
  if (x.empty() || x.place().host() || out.place().host()) return false;
  cuda::mean_rows(stream(), x.address(), x.size() / out.size(), out.size(), out.address());
  return true;
}

bool CudaChoices::pool_scores(View<const float> scores, int width, Pooling pooling,
                              View<float> out) {
  if (scores.place().host() || out.place().host()) return false;
  cuda::pool_scores(stream(), scores.address(), scores.size(), width, pooling == Pooling::kMax,
                    out.address());
  return true;
}

bool CudaChoices::add_seen(int64_t rows, std::span<const View<float>> columns) {
  std::vector<SeenColumn> lists;
  for (const View<float>& column : columns) {
    if (column.place().host()) return false;
    lists.push_back({column.address(), column.size()});
  }
  cuda::add_seen(stream(), rows, lists);
  return true;
}

bool CudaChoices::select_rows(std::span<const View<const float>> scores, const RowsToKeep& keep,
                              std::span<const View<int32_t>> rows) {
  selected_.clear();
  for (size_t l = 0; l < scores.size(); ++l) {
    if (scores[l].place().host() || rows[l].place().host()) return false;
    selected_.push_back({scores[l].address(), scores[l].size(), keep.first, keep.last, keep.count,
                         rows[l].address()});
  }
  cuda::select_rows(stream(), selected_);
  return true;
}

bool CudaChoices::deal_rows(const DealtRows& dealt) {
  std::vector<DealtList> lists;
  for (size_t l = 0; l < dealt.scores.size(); ++l) {
    if (dealt.scores[l].place().host()) return false;
    lists.push_back({dealt.scores[l].address(), dealt.scores[l].size(), dealt.rows[l].address(),
                     dealt.counts.address() + l});
  }
  DealTask task{};
  task.first = dealt.ends.first;
  task.last = dealt.ends.last;
  task.sure = dealt.sure;
  task.left = dealt.left;
  task.ranks = reinterpret_cast<uint32_t*>(dealt.scratch.address());
  cuda::deal_rows(stream(), task, lists, scores_);
  return true;
}

bool CudaChoices::steady_scores(std::span<const SteadyList> lists) {
  std::vector<SteadyTask> tasks;
  for (const auto& [got, rule, scores] : lists) {
    if (scores.place().host()) return false;
    tasks.push_back({got.sums.address(), got.squares.address(), got.seen.address(),
                     scores.address(), scores.size(), rule.sink, rule.settling, rule.feasible});
  }
  cuda::steady_scores(stream(), tasks, scores_);
  return true;
}

namespace {

RuleTask rule_task(const HybridRules& rules, const JudgedList& list) {
  RuleTask task{};
  task.attention = list.attention.address();
  task.recent = list.recent.address();
  task.tokens = list.tokens.listed.address();
  task.listed = list.tokens.listed.size();
  task.behind = list.tokens.behind;
  task.classes = list.classes.address();
  task.known = list.classes.size();
  task.rows = list.rows;
  task.begin = list.begin;
  task.end = list.end;
  task.global = rules.global;
  task.heavy = rules.heavy_rows(list.end);
  task.window = rules.window_rows(list.end);
  task.enough = rules.enough(list);
  task.rule = list.rule;
  return task;
}

}  // namespace

void CudaChoices::judge_rules(const HybridRules& rules, std::span<const JudgedList> lists,
                              View<int32_t> verdicts) {
  std::vector<RuleTask> tasks;
  for (size_t l = 0; l < lists.size(); ++l) {
    tasks.push_back(rule_task(rules, lists[l]));
    tasks.back().verdict = verdicts.address() + 2 * l;
  }
  cuda::judge_rules(stream(), tasks, scores_);
}

void CudaChoices::list_rules(const HybridRules& rules, std::span<const JudgedList> lists,
                             std::span<const View<int32_t>> rows) {
  std::vector<RuleTask> tasks;
  for (size_t l = 0; l < lists.size(); ++l) {
    tasks.push_back(rule_task(rules, lists[l]));
    tasks.back().out = rows[l].address();
  }
  cuda::judge_rules(stream(), tasks, scores_);
}

bool CudaChoices::most_voted(std::span<const DeviceVote> votes) {
  const auto words = [](View<int32_t> x) { return reinterpret_cast<uint32_t*>(x.address()); };
  votes_.clear();
  for (const DeviceVote& vote : votes) {
    if (vote.votes.place().host()) return false;
    votes_.push_back({vote.votes.address(), vote.votes.size(), vote.numbers, vote.k,
                      words(vote.counters), words(vote.marks), words(vote.voted),
                      vote.found.address(), vote.rows.address(), vote.count.address()});
  }
  cuda::most_voted(stream(), votes_, scores_);
  return true;
}

bool CudaChoices::expand_spans(std::span<const DeviceSpans> spans, int64_t span, int64_t first) {
  spans_.clear();
  for (const DeviceSpans& of : spans) {
    if (of.chosen.rows.place().host()) return false;
    spans_.push_back({of.chosen.rows.address(), of.chosen.count.address(), of.chosen.most(), span,
                      of.end, first, of.rows.address(), of.count.address()});
  }
  cuda::expand_spans(stream(), spans_, scores_);
  return true;
}

bool CudaChoices::choose_lines(std::span<const LineTask> tasks, int tile) {
  lines_.clear();
  for (const LineTask& task : tasks) {
    LineChoice& chosen = *task.chosen;
    if (task.columns.place().host() || task.diagonals.place().host()) return false;
    const auto select = [](View<const float> scores, int64_t forced, int64_t count,
                           View<int32_t> rows) {
      return SelectTask{scores.address(),        scores.size(), std::min(forced, scores.size()), 0,
                        std::max(forced, count), rows.address()};
    };
    const View<int32_t> distances = chosen.diagonal_rows.rows.view();
    lines_.push_back(
        {select(task.columns, kForcedColumns, task.vertical, chosen.column_rows.rows.view()),
         select(task.diagonals, kForcedDiagonals, task.slash, distances),
         {distances.address(), static_cast<int32_t>(distances.size()), tile,
          chosen.runs.view().address(), chosen.run_count.view().address()}});
  }
  cuda::choose_lines(stream(), lines_, scores_);
  return true;
}

bool CudaChoices::list_tile_keys(int tile, int page_rows, std::span<const DeviceTile> tiles) {
  tiles_.clear();
  for (const DeviceTile& each : tiles) {
    TileTask task{};
    if (const LineChoice* lines = each.rule->lines) {
      if (lines->columns.rows.place().host()) return false;
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
    tiles_.push_back(task);
  }
  cuda::list_tile_keys(stream(), tiles_, scores_);
  return true;
}

bool CudaChoices::reads_masks(const PagedRows& rows) const {
  return rows.type == DType::BF16 && rows.page_rows == kPageRows && rows.head_dim <= 128 &&
         rows.pages != nullptr && rows.listed != nullptr &&
         engine_pages(rows.head_dim).holds(rows.pages[0], rows.head_dim);
}

bool CudaChoices::copy_columns(std::span<CopiedColumns> heads) {
  int head_dim = 0;  // largest head_dim of the heads that have columns
  for (const CopiedColumns& head : heads) head_dim = std::max(head_dim, head.from.head_dim);
  if (head_dim == 0) return false;
  copies_.set_form(head_dim, kMostCopiedBytes);
  gathered_.clear();
  int64_t used = 0;
  for (CopiedColumns& head : heads) {
    const int64_t pages = (head.columns.size() + kPageRows - 1) / kPageRows;
    if (!copies_.reserve(used + pages)) return false;
    head.to = copies_.rows_from(used);
    if (pages == 0) continue;
    KeySegment columns;
    columns.rows = head.from;
    columns.index = head.columns;
    columns.count = head.columns.size();
    columns.visible = Visibility::kAll;
    GatherRecord record{};
    const bool written = write_segment(columns, record.keys);
    LH_ASSERT(written);
    record.to = copies_.listed_from(used);
    record.first_block = static_cast<int32_t>(used);
    gathered_.push_back(record);
    used += pages;
  }
  if (gathered_.empty()) return true;
  gather_keys(stream(), records_.upload(std::span<const GatherRecord>(gathered_)),
              static_cast<int>(gathered_.size()), static_cast<int>(used), head_dim, {});
  return true;
}

void CudaChoices::list_tile_pages(std::span<const TilePages> tiles) {
  const auto there = [](const MaskedPages& list) {
    return SeenPages{list.pages.address(), list.masks.address(), list.keys.address()};
  };
  pages_.clear();
  for (const TilePages& tile : tiles) {
    const LineChoice& lines = *tile.lines;
    pages_.push_back({.columns = lines.columns.rows.address(),
                      .runs = lines.runs.view().address(),
                      .run_count = lines.run_count.view().address(),
                      .position = tile.position,
                      .column_count = static_cast<int32_t>(lines.columns.rows.size()),
                      .rows = {tile.rows[0], tile.rows[1]},
                      .text = there(tile.text),
                      .copies = there(tile.copies),
                      .pairs = tile.pairs.address()});
  }
  cuda::list_tile_pages(stream(), pages_, scores_);
}

bool CudaChoices::choose_flex_blocks(const TiledRows& rows, const FlexRule& rule,
                                     std::span<const FlexHead> heads) {
  if (rows.queries.place().host() || rows.head_dim > kMostFlexDim) return false;
  flex_.clear();
  for (const FlexHead& head : heads) {
    flex_.push_back({head.head, head.columns.address(), head.diagonals.address(),
                     head.means.address(), head.seen.address()});
  }
  const TileGrid& grid = rows.grid;
  const FlexCall call{rows.queries.address(),
                      rows.heads,
                      rows.head_dim,
                      grid.tile,
                      grid.begin,
                      grid.rows,
                      rule.mass,
                      rule.distance,
                      rule.least,
                      rule.scale,
                      rule.last_rows};
  cuda::choose_flex_blocks(stream(), call, flex_, scores_);
  return true;
}

bool CudaChoices::lay_out_groups(View<const float> q, int64_t groups, int stride, int heads,
                                 int head_dim, View<uint8_t> rounded) {
  if (q.place().host() || head_dim % 8 != 0) return false;
  cuda::lay_out_groups(stream(), q.address(), groups, stride, heads, head_dim,
                       reinterpret_cast<uint16_t*>(rounded.address()));
  return true;
}

void CudaChoices::see_all_blocks(View<uint8_t> seen) {
  check(cudaMemsetAsync(seen.address(), 1, static_cast<size_t>(seen.size()), stream()), "memset");
}

void CudaChoices::choose_antidiagonals(const GroupMasses& of,
                                       std::span<const AntidiagonalHeads> heads) {
  antidiagonals_.clear();
  for (size_t i = 0; i < heads.size(); ++i) {
    AntidiagonalTask task{};
    task.masses = of.masses[i].address();
    task.shares = heads[i].shares.data();
    task.seen = heads[i].seen.address();
    task.head_count = heads[i].head_count;
    task.per_block = of.per_block;
    task.first_group = of.first;
    task.end_group = of.end;
    task.blocks = (of.end + of.per_block - 1) / of.per_block;
    task.first_tile = of.grid.first_tile();
    task.tiles = of.grid.tiles();
    task.columns = of.grid.blocks();
    antidiagonals_.push_back(task);
  }
  cuda::choose_antidiagonals(stream(), antidiagonals_, scores_);
}

}  // namespace longhaul::cuda
