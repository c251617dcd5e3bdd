#pragma once
// Ranges of earlier keys selected by rows (ReAttention, arXiv:2407.15176). Every query head of
// every row votes for its best keys by raw dot product, and the keys with most votes are selected
// with their neighbours. Several groups of rows select in one call, each separately.

#include <vector>

#include "ops/choose/votes.h"
#include "ops/maps/top_keys.h"

namespace longhaul {

struct SpanVote {
  int k = 4;           ///< votes of a query head of a row, 1 .. kMostTopKeys
  int64_t clip = 127;  ///< largest number of selected keys, which are the keys with most votes
  int64_t span = 32;   ///< rows selected around each key, including itself
};

/// Rows [row, row + rows) of the queries, which select from `count` keys together.
struct Election {
  int row = 0, rows = 0;
  int64_t count = 0;
  TopRule rule = TopRule::kExact;
  /// Query head h votes on list h mod lists, as the published code does in places. Otherwise heads
  /// are assigned to the lists in contiguous groups.
  bool mispaired = false;
  RowList chosen;  ///< result, valid until the next call: ascending, equal for all lists
};

class VotedSpans {
 public:
  /// Selects from rows [first, first + count) of every list. The heads of all devices of a team
  /// vote together. The call's only query form [rows, heads, head_dim] is in the form of the stored
  /// keys.
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
  Array<int32_t> all_votes_;    ///< in a team: for each election [members, its rows, heads, k]
  std::vector<Memory> memory_;  ///< per election
  std::vector<Vote> counted_;
  std::vector<Spans> spans_;
};

}  // namespace longhaul
