#pragma once
// Counts votes for keys, and adds the neighbours of the keys with the most votes (ReAttention,
// arXiv:2407.15176). A vote is the number of a key. The query heads of many rows vote.

#include <span>

#include "ops/core/row_list.h"

namespace longhaul {

/// The result of counting, and its buffers, which are reused between calls.
struct VoteCount {
  RowList chosen;  ///< views of `rows` and `count`
  Array<int32_t> rows;
  Array<int32_t> count;     ///< [1]: length of the result
  Array<int32_t> counters;  ///< at least one element per number; all are zero between calls
  Array<int32_t> numbers;   ///< numbers with votes, ascending
  /// On the host: how many votes each element of `numbers` has. On a device, [1]: how many numbers
  /// have votes.
  Array<int32_t> votes;
  /// Scratch of the selection. On a device, it holds one bit per number, and all bits are zero
  /// between calls.
  Array<int32_t> scratch;
};

/// A set of votes to count. Each element of `votes` is a number below `numbers`; negative elements
/// are ignored.
struct Vote {
  View<const int32_t> votes;
  int64_t numbers = 0;
  VoteCount* memory = nullptr;  ///< must be different for each Vote
};

/// For each Vote, writes the k numbers with the most votes to VoteCount::chosen, in ascending
/// order. If two numbers have equally many votes, the lower number is preferred. If fewer than k
/// numbers have votes, the result is shorter (RowList::count).
void most_voted(Queue& queue, std::span<const Vote> votes, int64_t k);
RowList most_voted(Queue& queue, View<const int32_t> votes, int64_t numbers, int64_t k,
                   VoteCount& memory);

/// The arguments of most_voted() on a device. `counters`, `marks` and `voted` must contain zeros,
/// and contain zeros again afterwards.
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
  Array<int32_t> count;  ///< [1]: length of the result
};

/// Selected rows, to which neighbours within [0, end) are added.
struct Spans {
  RowList chosen;
  int64_t end = 0;
  SpanRows* memory = nullptr;  ///< must be different for each element
};

/// For each element of `spans`, writes the selected rows with their neighbours to SpanRows::list,
/// in ascending order without duplicates. A span of `span` rows around row r begins at r - span / 2
/// and is cut off at 0 and `end`. `first` is added to each row number of the result. RowList::count
/// holds the number of rows.
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
