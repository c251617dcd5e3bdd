#pragma once
// The vote of many rows on few keys, and what a chosen key brings along (ReAttention,
// arXiv:2407.15176).

#include <span>

#include "ops/core/row_list.h"

namespace longhaul {

/// Memory of a vote, reused from call to call, and its result.
struct VoteCount {
  RowList chosen;  ///< in `rows` and `count`
  Array<int32_t> rows;
  Array<int32_t> count;     ///< [1]
  Array<int32_t> counters;  ///< [numbers] or more, zero between calls
  Array<int32_t> numbers;   ///< that got votes, ascending
  Array<int32_t> votes;     ///< that they got; on a device how many numbers did
  Array<int32_t> scratch;   ///< of the search; on a device marks of numbers, zero between calls
};

/// Votes on numbers from 0 to numbers - 1; negative ones do not count.
struct Vote {
  View<const int32_t> votes;
  int64_t numbers = 0;
  VoteCount* memory = nullptr;  ///< its own
};

/// Of every vote the k most frequent numbers, ascending, each once; of equal counts the lower
/// number wins. Fewer than k where fewer were voted for: RowList::count says how many.
void most_voted(Queue& queue, std::span<const Vote> votes, int64_t k);
RowList most_voted(Queue& queue, View<const int32_t> votes, int64_t numbers, int64_t k,
                   VoteCount& memory);

/// Memory of expanded spans, and the result.
struct SpanRows {
  RowList list;  ///< in `rows` and `count`
  Array<int32_t> rows;
  Array<int32_t> count;  ///< [1]
};

/// Chosen rows whose neighbours are in [0, end).
struct Spans {
  RowList chosen;
  int64_t end = 0;
  SpanRows* memory = nullptr;  ///< its own
};

/// Of each of `spans` the rows from span / 2 before each of the chosen ones to span - span / 2 - 1
/// after it, as far as they are in [0, end), ascending and once each, plus `first`. RowList::count
/// says how many.
void expand_spans(Queue& queue, std::span<const Spans> spans, int64_t span, int64_t first);
RowList expand_spans(Queue& queue, const RowList& chosen, int64_t span, int64_t end, int64_t first,
                     SpanRows& memory);

}  // namespace longhaul
