#include "attention/methods/reattention/voted_spans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "ops/isa_fixture.h"
#include "ops/paged_head.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::PagedHead;
using testing_support::view_of;
using VotedRows = std::vector<int32_t>;

constexpr int kVotedDim = 32, kVotedHeads = 4, kLists = 2;

/// Small integers, whose products are exact in any order of summation.
std::vector<float> whole_numbers(size_t count, std::mt19937& random) {
  std::vector<float> numbers(count);
  for (float& x : numbers) x = static_cast<float>(random() % 7) - 3.0f;
  return numbers;
}

/// The k keys of [first, first + count) in a list with the largest products. Of equal ones the
/// lower keys come first.
VotedRows best_keys(const float* query, const PagedHead& list, int64_t first, int64_t count,
                    int k) {
  std::vector<std::pair<double, int32_t>> ranked;
  for (int32_t j = 0; j < count; ++j) {
    double product = 0;
    for (size_t t = 0; t < kVotedDim; ++t) {
      product += double{query[t]} * list.k[static_cast<size_t>(first + j)][t];
    }
    ranked.push_back({-product, j});
  }
  std::sort(ranked.begin(), ranked.end());
  VotedRows keys;
  for (size_t i = 0; i < ranked.size() && i < static_cast<size_t>(k); ++i) {
    keys.push_back(ranked[i].second);
  }
  return keys;
}

/// The keys with the most votes, and their neighbours.
VotedRows plain_spans(const std::map<int32_t, int>& votes, int64_t first, int64_t count,
                      const SpanVote& vote) {
  std::vector<std::pair<int, int32_t>> ranked;
  for (const auto& [key, times] : votes) ranked.push_back({-times, key});
  std::sort(ranked.begin(), ranked.end());
  std::set<int32_t> seen;
  for (size_t i = 0; i < ranked.size() && i < static_cast<size_t>(vote.clip); ++i) {
    const int64_t begin = ranked[i].second - vote.span / 2;
    for (int64_t j = begin; j < begin + vote.span; ++j) {
      if (j >= 0 && j < count) seen.insert(static_cast<int32_t>(first + j));
    }
  }
  return {seen.begin(), seen.end()};
}

/// The choice of rows [row, row + rows), by loops over rows, heads and keys.
VotedRows plain_choice(const std::vector<float>& queries, const std::vector<PagedHead>& lists,
                       int64_t first, const SpanVote& vote, const Election& e) {
  std::map<int32_t, int> votes;
  for (int i = e.row * kVotedHeads; i < (e.row + e.rows) * kVotedHeads; ++i) {
    const int head = i % kVotedHeads;
    const size_t list = static_cast<size_t>(e.mispaired ? head % kLists : head / 2);
    const float* const query = queries.data() + i * kVotedDim;
    for (const int32_t key : best_keys(query, lists[list], first, e.count, vote.k)) ++votes[key];
  }
  return plain_spans(votes, first, e.count, vote);
}

TEST(VotedSpans, EqualALoopOverRowsHeadsAndKeys) {
  std::mt19937 random(21);
  VotedSpans spans;
  for (const bool mispaired : {false, true}) {
    constexpr int64_t kFirst = 5, kCount = 300;
    std::vector<PagedHead> lists;
    for (int list = 0; list < kLists; ++list) {
      std::vector<std::vector<float>> numbers(2 * (kFirst + kCount + 9));
      for (auto& row : numbers) row = whole_numbers(kVotedDim, random);
      lists.emplace_back(DType::BF16, kVotedDim, numbers);
    }
    const std::vector<PagedRows> views{lists[0].view(), lists[1].view()};
    const std::vector<float> queries = whole_numbers(size_t{24} * kVotedHeads * kVotedDim, random);
    const SpanVote vote{.k = 2, .clip = 4, .span = 7};
    // Groups of rows that choose together, from fewer or more keys.
    std::vector<Election> elections{{.row = 0, .rows = 20, .count = kCount - 40},
                                    {.row = 20, .rows = 3, .count = kCount - 20},
                                    {.row = 23, .rows = 1, .count = kCount}};
    for (Election& e : elections) e.mispaired = mispaired;
    const View<const float> form = view_of(queries);
    AttendCall call;
    call.queries = {&form, 1};
    call.heads = kVotedHeads;
    call.head_dim = kVotedDim;
    at_every_isa([&] {
      spans.choose(call, views, kFirst, vote, elections);
      for (const Election& e : elections) {
        SCOPED_TRACE(testing::Message() << e.rows << " rows, mispaired " << mispaired);
        const auto got = host_rows(e.chosen);
        EXPECT_EQ(VotedRows(got.begin(), got.end()), plain_choice(queries, lists, kFirst, vote, e));
      }
    });
  }
}

}  // namespace
}  // namespace longhaul
