#pragma once
// Counts the votes of many rows for keys, and adds the neighbours of the selected keys
// (ReAttention, arXiv:2407.15176).

#include <span>

#include "ops/core/row_list.h"

namespace longhaul {

/// The result of a vote, and its buffers, which are reused between calls.
struct VoteCount {
  RowList chosen;  ///< views of `rows` and `count`
  Array<int32_t> rows;
  Array<int32_t> count;     ///< [1]
  Array<int32_t> counters;  ///< at least [numbers]; all elements are zero between calls
  Array<int32_t> numbers;   ///< numbers with votes, ascending
  /// On the host: the number of votes of each element of `numbers`. On a device: [1], how many
  /// numbers have votes.
  Array<int32_t> votes;
  /// Scratch for the search. On a device, it holds one bit for each number, and all bits are zero
  /// between calls.
  Array<int32_t> scratch;
};

/// Votes for numbers from 0 to numbers - 1. Negative votes are ignored.
struct Vote {
  View<const int32_t> votes;
  int64_t numbers = 0;
  VoteCount* memory = nullptr;  ///< separate for each vote
};

/// Returns for every vote the k most frequent numbers in ascending order, without duplicates. If
/// two numbers are equally frequent, the lower number is preferred. If fewer than k numbers have
/// votes, the result is shorter (RowList::count).
void most_voted(Queue& queue, std::span<const Vote> votes, int64_t k);
RowList most_voted(Queue& queue, View<const int32_t> votes, int64_t numbers, int64_t k,
                   VoteCount& memory);

/// The arguments of a vote on a device. `counters`, `marks` and `voted` must be zeros and are zeros
/// again afterwards.
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

/// The result of expand_spans(), and its buffers.
struct SpanRows {
  RowList list;  ///< views of `rows` and `count`
  Array<int32_t> rows;
  Array<int32_t> count;  ///< [1]
};

/// Selected rows, to which neighbours in [0, end) are added.
struct Spans {
  RowList chosen;
  int64_t end = 0;
  SpanRows* memory = nullptr;  ///< separate for each element
};

/// For each element of `spans`, lists the selected rows with their neighbours: from span / 2 rows
/// before a selected row to span - span / 2 - 1 rows after it, within [0, end). `first` is added to
/// each listed row. The list is ascending, without duplicates. RowList::count holds the number of
/// rows.
void expand_spans(Queue& queue, std::span<const Spans> spans, int64_t span, int64_t first);
RowList expand_spans(Queue& queue, const RowList& chosen, int64_t span, int64_t end, int64_t first,
                     SpanRows& memory);

/// The arguments of expand_spans() on a device.
struct DeviceSpans {
  RowList chosen;
  int64_t end = 0;
  View<int32_t> rows;   ///< [min(end, number of chosen rows * span)]: result
  View<int32_t> count;  ///< [1]: length of the result

  bool lies_on(Place place) const { return chosen.rows.place() == place; }
};
inline const DeviceOperation<bool(std::span<const DeviceSpans>, int64_t span, int64_t first)>
    kExpandSpans;

}  // namespace longhaul
