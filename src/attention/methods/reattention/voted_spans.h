#pragma once
// Selects ranges of earlier keys by votes (ReAttention, arXiv:2407.15176). Every query head of
// every row votes for the keys with the largest unscaled dot product. The keys with the most votes
// are selected, together with their neighbours. One call can process several groups of rows, each
// of which selects separately. A list holds the stored rows of one KV head.

#include <vector>

#include "attention/methods/reattention/votes.h"
#include "ops/maps/top_keys.h"

namespace longhaul {

struct SpanVote {
  int k = 4;           ///< number of votes of each query head of a row, 1 to kMostTopKeys
  int64_t clip = 127;  ///< largest number of selected keys, not counting neighbours
  int64_t span = 32;   ///< rows selected around each key, including the key itself
};

/// Query rows [row, row + rows), which select together from `count` keys.
struct Election {
  int row = 0, rows = 0;
  int64_t count = 0;
  TopRule rule = TopRule::kExact;
  /// If true, query head h votes on list h mod lists, as the published code does in some places. If
  /// false, contiguous groups of heads vote on a list.
  bool mispaired = false;
  RowList chosen;  ///< result, ascending, the same for all lists; valid until the next call
};

class VotedSpans {
 public:
  /// Runs the elections. Each selects from `count` rows of every list, from row `first` on. The
  /// heads of all devices vote together. The call has one query array [rows, heads, head_dim], in
  /// the same form as the stored keys (rotated or raw).
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
  Array<int32_t> votes_;  ///< [rows, heads, k] key numbers below the election's `count`
  /// With several devices, for each election: [ranks, rows of the election, heads, k].
  Array<int32_t> all_votes_;
  std::vector<Memory> memory_;  ///< per election: its buffers
  std::vector<Vote> counted_;
  std::vector<Spans> spans_;
};

}  // namespace longhaul
