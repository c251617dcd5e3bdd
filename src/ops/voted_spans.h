#pragma once
// Stretches of earlier keys to which the rows of a pass point (ReAttention, arXiv:2407.15176):
// every query head of every row votes for its best keys by raw dot product; the keys with most
// votes bring their neighbours along.

#include <vector>

#include "ops/top_keys.h"
#include "ops/votes.h"

namespace longhaul {

struct SpanVote {
  int k = 4;  ///< keys that a query head of a row votes for, 1 .. kMostTopKeys
  TopRule rule = TopRule::kExact;
  int64_t clip = 127;  ///< keys that are chosen at most, those with most votes
  int64_t span = 32;   ///< rows that a chosen key brings along, itself counted
  /// Query head h votes on list h mod lists, as the published code has it in places; else heads are
  /// dealt to the lists in contiguous groups.
  bool mispaired = false;
};

class VotedSpans {
 public:
  /// Of rows [first, first + count) of every list those that are chosen, ascending; the same for
  /// all. The call's only form of the queries [rows, heads, head_dim] is as the keys are stored.
  RowList choose(const AttendCall& call, std::span<const PagedRows> lists, int64_t first,
                 int64_t count, const SpanVote& vote);

 private:
  std::vector<TopKeysTask> tasks_;
  Array<int32_t> votes_;  ///< [rows, heads, k] numbers below `count`
  VoteCount count_;
  SpanRows spans_;
};

}  // namespace longhaul
