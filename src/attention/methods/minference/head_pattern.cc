#include "attention/methods/minference/head_pattern.h"

#include <algorithm>
#include <vector>

#include "attention/methods/minference/attention_share.h"

namespace longhaul {
namespace {

constexpr int64_t kFirstSearched = 2500;  // earlier rows have few keys that could be omitted
// Share of the attention. Smaller differences between candidates are random.
constexpr double kWorthMore = 1e-4;

constexpr HeadPattern kPatternCandidates[] = {
    {PatternKind::kAShape, 100, 800},         {PatternKind::kVerticalSlash, 30, 800},
    {PatternKind::kVerticalSlash, 100, 750},  {PatternKind::kVerticalSlash, 500, 700},
    {PatternKind::kVerticalSlash, 3500, 100}, {PatternKind::kBlocks, 8, 0}};

}  // namespace

void search_patterns(const SearchedRows& rows, const AttendByPattern& attend,
                     std::span<HeadPattern> best) {
  const int64_t count = rows.all_lse.size() / std::ssize(best);
  const int64_t first = std::clamp<int64_t>(kFirstSearched - rows.begin, 0, count - 1);
  for (HeadPattern& b : best) b.score = -1;  // below every possible share
  std::vector<double> caught(best.size());
  for (const HeadPattern& candidate : kPatternCandidates) {
    attention_shares(rows.queue, attend(candidate), rows.all_lse, first, caught);
    for (size_t head = 0; head < best.size(); ++head) {
      if (caught[head] < best[head].score + kWorthMore) continue;
      best[head] = candidate;
      best[head].score = caught[head];
    }
  }
}

}  // namespace longhaul
