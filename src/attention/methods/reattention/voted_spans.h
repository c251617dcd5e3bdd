#pragma once
// Selects ranges of earlier keys by votes (ReAttention, arXiv:2407.15176). Every query head of
// every query row votes for the k keys with the largest dot products. The keys with the most votes
// are selected, together with their neighbours (a span). The selection is the same for all heads.
// An election is the selection of one group of query rows; one call can process several elections.
// A list holds the stored rows of one KV head.

#include <vector>

#include "attention/methods/reattention/votes.h"
#include "ops/maps/top_keys.h"

namespace longhaul {

struct SpanVote {
  int k = 4;           ///< votes per query head and query row, 1 to kMostTopKeys
  int64_t clip = 127;  ///< largest number of selected keys, not counting neighbours
  int64_t span = 32;   ///< number of keys in the span around each selected key
};

/// The election of query rows [row, row + rows). It selects from the first `count` candidates of
/// VotedSpans::choose().
struct Election {
  int row = 0, rows = 0;
  int64_t count = 0;
  TopRule rule = TopRule::kExact;
  /// If true, query head h votes for keys of list h mod lists, as in some places of the published
  /// code. If false, contiguous groups of query heads vote for keys of the same list.
  bool mispaired = false;
  RowList chosen;  ///< result: row numbers, equal for all lists; valid until the next call
};

class VotedSpans {
 public:
  /// Runs the elections and sets their results. Candidates are the stored rows from `first` on in
  /// every list. If several devices share the model, the votes of all their heads are counted
  /// together. `call` must have one query array [rows, heads, head_dim], which is rotated if the
  /// stored keys are rotated.
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
  /// [rows, heads, k]: numbers of candidates, from 0 to Election::count - 1.
  Array<int32_t> votes_;
  /// The votes of all devices; for each election, [ranks, rows of the election, heads, k].
  Array<int32_t> all_votes_;
  std::vector<Memory> memory_;  ///< per election: its buffers
  std::vector<Vote> counted_;
  std::vector<Spans> spans_;
};

}  // namespace longhaul
