#pragma once
// The vote of many rows on keys, and the neighbours of selected keys (ReAttention,
// arXiv:2407.15176).

#include <span>

#include "ops/core/row_list.h"

namespace longhaul {

/// Memory of a vote, reused from call to call, and its result.
struct VoteCount {
  RowList chosen;  ///< views of `rows` and `count`
  Array<int32_t> rows;
  Array<int32_t> count;     ///< [1]
  Array<int32_t> counters;  ///< [numbers] or more, zero between calls
  Array<int32_t> numbers;   ///< numbers with votes, ascending
  Array<int32_t> votes;     ///< votes per number; on a device the count of numbers with votes
  /// scratch for the search; on a device marks of numbers, zero between calls
  Array<int32_t> scratch;
};

/// Votes on numbers from 0 to numbers - 1; negative ones are ignored.
struct Vote {
  View<const int32_t> votes;
  int64_t numbers = 0;
  VoteCount* memory = nullptr;  ///< separate for each vote
};

/// Returns for every vote the k most frequent numbers in ascending order, without duplicates. Of
/// equally frequent numbers the lower wins. If fewer than k numbers have votes, the result is
/// shorter (RowList::count).
void most_voted(Queue& queue, std::span<const Vote> votes, int64_t k);
RowList most_voted(Queue& queue, View<const int32_t> votes, int64_t numbers, int64_t k,
                   VoteCount& memory);

/// A vote on a device. Counters must be zeros and are zeros again afterwards.
struct DeviceVote {
  View<const int32_t> votes;
  int64_t numbers = 0, k = 0;
  View<int32_t> counters;  ///< [numbers] zeros
  View<int32_t> marks;     ///< [numbers / 32, rounded up] zeros
  View<int32_t> voted;     ///< [1], zero
  View<int32_t> found;     ///< [min(numbers, votes)] scratch
  View<int32_t> rows;      ///< [min(k, numbers, votes)]: result
  View<int32_t> count;     ///< [1]: length of the result

  bool lies_on(Place place) const { return votes.place() == place; }
};
inline const DeviceOperation<bool(std::span<const DeviceVote>)> kMostVoted;

/// Memory of expanded spans, and the result.
struct SpanRows {
  RowList list;  ///< views of `rows` and `count`
  Array<int32_t> rows;
  Array<int32_t> count;  ///< [1]
};

/// Selected rows with neighbours in [0, end).
struct Spans {
  RowList chosen;
  int64_t end = 0;
  SpanRows* memory = nullptr;  ///< separate for each element
};

/// For each of `spans` the rows from span / 2 before each selected row to span - span / 2 - 1 after
/// it, within [0, end), ascending, without duplicates, plus `first`. RowList::count holds their
/// number.
void expand_spans(Queue& queue, std::span<const Spans> spans, int64_t span, int64_t first);
RowList expand_spans(Queue& queue, const RowList& chosen, int64_t span, int64_t end, int64_t first,
                     SpanRows& memory);

/// Spans around rows on a device.
struct DeviceSpans {
  RowList chosen;
  int64_t end = 0;
  View<int32_t> rows;   ///< [min(end, chosen * span)]: result
  View<int32_t> count;  ///< [1]: length of the result

  bool lies_on(Place place) const { return chosen.rows.place() == place; }
};
inline const DeviceOperation<bool(std::span<const DeviceSpans>, int64_t span, int64_t first)>
    kExpandSpans;

}  // namespace longhaul
