#pragma once
// Stretches of earlier keys to which rows point (ReAttention, arXiv:2407.15176): every query head
// of every row votes for its best keys by raw dot product; the keys with most votes bring their
// neighbours along. Several groups of rows choose at once, each for itself.

#include <vector>

#include "ops/choose/votes.h"
#include "ops/maps/top_keys.h"

namespace longhaul {

struct SpanVote {
  int k = 4;           ///< keys that a query head of a row votes for, 1 .. kMostTopKeys
  int64_t clip = 127;  ///< keys that are chosen at most, those with most votes
  int64_t span = 32;   ///< rows that a chosen key brings along, itself counted
};

/// Rows [row, row + rows) of the queries, which choose from `count` keys together.
struct Election {
  int row = 0, rows = 0;
  int64_t count = 0;
  TopRule rule = TopRule::kExact;
  /// Query head h votes on list h mod lists, as the published code has it in places; else heads are
  /// dealt to the lists in contiguous groups.
  bool mispaired = false;
  RowList chosen;  ///< the result, until the next call: ascending, the same for all lists
};

class VotedSpans {
 public:
  /// From rows [first, first + count) of every list; the heads of all devices of a team vote
  /// together. The call's only form of the queries [rows,
  /// heads, head_dim] is as the keys are stored.
  void choose(const AttendCall& call, std::span<const PagedRows> lists, int64_t first,
              const SpanVote& vote, std::span<Election> elections);

 private:
  struct Memory {
    VoteCount count;
    SpanRows spans;
  };
  View<const int32_t> votes_of(Queue& queue, const Election& election, int64_t votes_of_row);
  void vote_by(TopRule rule, const AttendCall& call, std::span<const PagedRows> lists,
               int64_t first, const SpanVote& vote, std::span<const Election> elections);

  std::vector<TopKeysTask> tasks_;
  Array<int32_t> votes_;        ///< [rows, heads, k] numbers below an election's `count`
  Array<int32_t> all_votes_;    ///< of a team: of each election [members, its rows, heads, k]
  std::vector<Memory> memory_;  ///< of each election
  std::vector<Vote> counted_;
  std::vector<Spans> spans_;
};

}  // namespace longhaul
