#include "attention/methods/minference/pattern_rules.h"

#include <algorithm>

#include "base/nth.h"

namespace longhaul {
namespace {

bool any_of_kind(std::span<const HeadPattern> heads, PatternKind kind) {
  return std::ranges::count(heads, kind, &HeadPattern::kind) > 0;
}

}  // namespace

void PatternRules::choose(const PatternedRows& rows, std::span<const HeadPattern> heads,
                          std::span<TileRule> rules) {
  const AttendCall& call = rows.call;
  LH_ASSERT(std::ssize(heads) == call.heads && std::ssize(rules) == call.heads);
  if (any_of_kind(heads, PatternKind::kVerticalSlash)) {
    last_.look(call, rows.last, rows.grid.keys());
  }
  if (any_of_kind(heads, PatternKind::kBlocks)) {
    means_.average(*call.queue, rows.lists, rows.only, rows.grid);
  }
  lines_.resize(heads.size());
  line_tasks_.clear();
  block_tasks_.clear();
  const int group = call.heads / static_cast<int>(rows.lists.size());
  for (int head = 0; head < call.heads; ++head) {
    const bool attends = rows.only.empty() || nth(rows.only, head / group) != 0;
    if (attends) nth(rules, head) = rule_of(rows, nth(heads, head), head);
  }
  choose_lines(*call.queue, line_tasks_, rows.grid.tile);
  if (block_tasks_.empty()) return;
  const TiledRows tiled{call.queries.front(), call.heads, call.head_dim, rows.grid};
  choose_mean_blocks(*call.queue, tiled, rows.first, block_tasks_, blocks_);
}

TileRule PatternRules::rule_of(const PatternedRows& rows, const HeadPattern& pattern, int head) {
  if (pattern.kind == PatternKind::kAShape) {
    return {.kind = TileRule::Kind::kAShape, .sink = pattern.vertical, .window = pattern.slash};
  }
  if (pattern.kind == PatternKind::kVerticalSlash) {
    LineChoice& lines = nth(lines_, head);
    line_tasks_.push_back(
        {last_.columns(head), last_.diagonals(head), pattern.vertical, pattern.slash, &lines});
    return {.kind = TileRule::Kind::kLines, .lines = &lines};
  }
  const int64_t each = rows.grid.tiles() * rows.grid.blocks();
  const View<uint8_t> seen = rows.marks.part(head * each, each);
  const int list = head / (rows.call.heads / static_cast<int>(rows.lists.size()));
  block_tasks_.push_back({head, pattern.vertical, means_.of(list), seen});
  return {.kind = TileRule::Kind::kBlocks, .blocks = seen};
}

}  // namespace longhaul
