#pragma once
// Counts votes for keys, and lists the spans around the keys with the most votes
// (attention/methods/reattention/votes.h). A vote is the number of a key, and a span is a range of
// adjacent keys. The code is for one thread block, as phases between barriers
// (ops/core/gpu/block.h).

#include "ops/choose/bit_phases.h"
#include "ops/choose/select_phases.h"

namespace longhaul::cuda {

struct VoteTask {
  const int32_t* votes;  ///< [cast]: one key number per vote; negative: no vote
  int64_t cast;
  int64_t numbers, k;  ///< number of keys that can get votes, and number of keys to select
  uint32_t* counters;  ///< [numbers], zeros before and after
  uint32_t* marks;     ///< [numbers / 32, rounded up], zeros before and after
  uint32_t* voted;     ///< [1], zero before and after
  int32_t* found;      ///< [min(numbers, cast)]: scratch: numbers with votes, in any order
  int32_t* rows;       ///< result: the `k` numbers with the most votes, ascending
  int32_t* count;      ///< [1]: length of the result
};

/// Counts votes [first, end), and appends numbers that get their first vote to task.found.
template <class Block>
LH_PHASES void tally_votes(const Block& block, const VoteTask& task, int64_t first, int64_t end) {
  block.each([&](int t) {
    for (int64_t i = first + t; i < end; i += kBlockThreads) {
      const int32_t vote = task.votes[i];
      if (vote < 0 || block.add(task.counters[vote], 1) != 0) continue;
      task.found[block.add(*task.voted, 1)] = vote;
    }
  });
}

LH_BOTH int bits_of(uint64_t x) {
  int bits = 0;
  for (; x != 0; x >>= 1) ++bits;
  return bits;
}

struct ChoiceShared {
  union {
    SelectShared select;
    BitShared bits;
  };
};

/// Writes the task.k numbers with the most votes to task.rows, after all votes have been counted.
template <class Block>
LH_PHASES void choose_voted(const Block& block, ChoiceShared& s, const VoteTask& task) {
  const int64_t voted = *task.voted, chosen = task.k < voted ? task.k : voted;
  // Sort keys increase with the number of votes. For equal numbers of votes, the lower number has
  // the higher sort key. All sort keys are different.
  const int low = bits_of(static_cast<uint64_t>(task.numbers));
  const auto key_of = [&](int64_t i) {
    const int32_t number = task.found[i];
    return uint64_t{task.counters[number]} << low | static_cast<uint64_t>(task.numbers - number);
  };
  uint64_t boundary = chosen == 0 ? ~uint64_t{0} : 0;
  if (0 < chosen && chosen < voted) {
    const int bits = low + bits_of(static_cast<uint64_t>(task.cast));
    find_boundary(block, s.select, voted, static_cast<uint32_t>(chosen), (bits + 7) / 8 * 8,
                  key_of);
    boundary = s.select.prefix;
  }
  block.each([&](int t) {
    for (int64_t i = t; i < voted; i += kBlockThreads) {
      const int32_t number = task.found[i];
      if (key_of(i) >= boundary) block.set_bits(task.marks[number / 32], 1u << number % 32);
      task.counters[number] = 0;
    }
  });
  const int64_t words = (task.numbers + 31) / 32;
  list_bits(
      block, s.bits, words,
      [&](int64_t first, uint32_t* to) {
        for (int w = 0; w < BitShared::kEach; ++w) {
          to[w] = first + w < words ? task.marks[first + w] : 0;
          if (to[w] != 0) task.marks[first + w] = 0;
        }
      },
      task.rows);
  block.each([&](int t) {
    if (t == 0) *task.count = static_cast<int32_t>(s.bits.written), *task.voted = 0;
  });
}

struct ExpandTask {
  const int32_t* chosen;        ///< chosen keys in ascending order
  const int32_t* chosen_count;  ///< number of chosen keys; null: `most`
  int64_t most;
  /// span: number of keys in a span. end: spans are cut off at this key number. first: is added to
  /// the key numbers of the result.
  int64_t span, end, first;
  int32_t* rows;
  int32_t* count;  ///< [1]: length of the result
};

struct ExpandShared {
  ScanShared scan;
  int32_t written;
};

/// Writes the rows of the spans around all chosen keys, in ascending order. If spans overlap, each
/// row is written once.
template <class Block>
LH_PHASES void expand_spans(const Block& block, ExpandShared& s, const ExpandTask& task) {
  const int64_t chosen = task.chosen_count == nullptr ? task.most : *task.chosen_count;
  const auto stop_of = [&](int64_t i) {  // returns the end of span i
    const int64_t stop = task.chosen[i] - task.span / 2 + task.span;
    return stop < task.end ? stop : task.end;
  };
  // Returns the first row of span i that is not in the previous span.
  const auto begin_of = [&](int64_t i) {
    const int64_t low = task.chosen[i] - task.span / 2, before = i > 0 ? stop_of(i - 1) : 0;
    return low > before ? low : before;
  };
  block.each([&](int t) {
    if (t == 0) s.written = 0;
  });
  for (int64_t from = 0; from < chosen; from += kBlockThreads) {
    block.scan(s.scan, [&](int t) {
      if (from + t >= chosen) return 0u;
      const int64_t rows = stop_of(from + t) - begin_of(from + t);
      return rows > 0 ? static_cast<uint32_t>(rows) : 0u;
    });
    block.each([&](int t) {
      int32_t* const out = task.rows + s.written;
      for (uint32_t i = static_cast<uint32_t>(t); i < s.scan.all; i += kBlockThreads) {
        int low = 0, high = kBlockThreads - 1;  // finds the last span that begins at or before i
        while (low < high) {
          const int middle = (low + high + 1) / 2;
          if (s.scan.before[middle] <= i) {
            low = middle;
          } else {
            high = middle - 1;
          }
        }
        // The array s.scan.before also has elements after the last span. They equal s.scan.all, so
        // the search never selects them.
        out[i] = static_cast<int32_t>(task.first + begin_of(from + low) + (i - s.scan.before[low]));
      }
    });
    block.each([&](int t) {
      if (t == 0) s.written += static_cast<int32_t>(s.scan.all);
    });
  }
  block.each([&](int t) {
    if (t == 0) *task.count = s.written;
  });
}

}  // namespace longhaul::cuda
