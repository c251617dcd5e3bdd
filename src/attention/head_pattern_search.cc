#include "attention/head_pattern_search.h"

#include <algorithm>
#include <cmath>

namespace longhaul {
namespace {

constexpr int64_t kFirstSearched = 2500;  // rows before see little that could be left out
constexpr double kWorthMore = 1e-4;       // of the attention: less is noise between candidates

constexpr HeadPattern kCandidates[] = {
    {PatternKind::kAShape, 100, 800},         {PatternKind::kVerticalSlash, 30, 800},
    {PatternKind::kVerticalSlash, 100, 750},  {PatternKind::kVerticalSlash, 500, 700},
    {PatternKind::kVerticalSlash, 3500, 100}, {PatternKind::kBlocks, 8, 0}};

double share_caught(const SearchedRows& rows, size_t head, std::span<const float> lse) {
  const int64_t first = std::clamp<int64_t>(kFirstSearched - rows.begin, 0, rows.rows - 1);
  double sum = 0;
  for (int64_t r = first; r < rows.rows; ++r) {
    const size_t at = static_cast<size_t>(r * rows.heads) + head;
    sum += std::exp(static_cast<double>(lse[at]) - rows.dense_lse[at]);
  }
  return sum / static_cast<double>(rows.rows - first);
}

}  // namespace

std::vector<HeadPattern> search_patterns(const SearchedRows& rows, const AttendByPattern& attend) {
  std::vector<HeadPattern> best(static_cast<size_t>(rows.heads));
  for (HeadPattern& b : best) b.score = -1;  // below any share
  std::vector<float> lse(rows.dense_lse.size());
  for (const HeadPattern& candidate : kCandidates) {
    attend(candidate, lse);
    for (size_t head = 0; head < best.size(); ++head) {
      const double caught = share_caught(rows, head, lse);
      if (caught < best[head].score + kWorthMore) continue;
      best[head] = candidate;
      best[head].score = caught;
    }
  }
  return best;
}

}  // namespace longhaul
