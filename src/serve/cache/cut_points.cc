#include "serve/cache/cut_points.h"

#include <algorithm>

namespace longhaul::serve {
namespace {

constexpr size_t kMostCheckpoints = 256;

/// Drops points outside [least, most] and points that follow another one too closely.
std::vector<int64_t> thinned(std::vector<int64_t> points, int64_t most, int64_t apart) {
  std::ranges::sort(points);
  std::vector<int64_t> kept;
  for (const int64_t point : points) {
    const int64_t before = kept.empty() ? 0 : kept.back();
    if (point - before >= apart && point <= most) kept.push_back(point);
  }
  return kept;
}

}  // namespace

int64_t grid_of(const ResumeRule& rule, int64_t grid) {
  return (grid + rule.unit - 1) / rule.unit * rule.unit;
}

std::vector<int64_t> cut_points(const ResumeRule& rule, const CutFacts& facts) {
  if (rule.group == ResumeGroup::kTurn || rule.group == ResumeGroup::kQuestion) return {};
  const auto marks = facts.checkpoints.first(std::min(facts.checkpoints.size(), kMostCheckpoints));
  std::vector<int64_t> points(marks.begin(), marks.end());
  if (facts.instruction > 0) points.push_back(facts.prompt - facts.instruction);
  const int64_t most = facts.prompt - std::max(kLeastPrefill, rule.last);
  if (rule.group == ResumeGroup::kGrid) {
    for (int64_t& point : points) point = point / rule.unit * rule.unit;
    const int64_t grid = grid_of(rule, facts.grid);
    for (int64_t at = grid; at <= most; at += grid) points.push_back(at);
    return thinned(std::move(points), most, rule.unit < kLeastPrefill ? kLeastPrefill : 1);
  }
  // A method that evicts at the end of the prompt reads only the last rows itself.
  if (rule.evicts_after_dense()) points.push_back(most);
  return thinned(std::move(points), most, kLeastPrefill);
}

}  // namespace longhaul::serve
