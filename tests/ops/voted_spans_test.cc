#include "ops/voted_spans.h"

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
using Rows = std::vector<int32_t>;

constexpr int kDim = 32, kHeads = 4, kLists = 2;

/// Small whole numbers, whose products are exact however they are summed up.
std::vector<float> whole_numbers(size_t count, std::mt19937& random) {
  std::vector<float> numbers(count);
  for (float& x : numbers) x = static_cast<float>(random() % 7) - 3.0f;
  return numbers;
}

/// Of keys [first, first + count) of a list the k with the largest products, lower keys first.
Rows best_keys(const float* query, const PagedHead& list, int64_t first, int64_t count, int k) {
  std::vector<std::pair<double, int32_t>> ranked;
  for (int32_t j = 0; j < count; ++j) {
    double product = 0;
    for (size_t t = 0; t < kDim; ++t) {
      product += double{query[t]} * list.k[static_cast<size_t>(first + j)][t];
    }
    ranked.push_back({-product, j});
  }
  std::sort(ranked.begin(), ranked.end());
  Rows keys;
  for (size_t i = 0; i < ranked.size() && i < static_cast<size_t>(k); ++i) {
    keys.push_back(ranked[i].second);
  }
  return keys;
}

/// Those with most votes, and their neighbours.
Rows plain_spans(const std::map<int32_t, int>& votes, int64_t first, int64_t count,
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

TEST(VotedSpans, EqualALoopOverRowsHeadsAndKeys) {
  std::mt19937 random(21);
  VotedSpans spans;
  for (const int rows : {1, 3, 20}) {
    for (const bool mispaired : {false, true}) {
      SCOPED_TRACE(testing::Message() << rows << " rows, mispaired " << mispaired);
      constexpr int64_t kFirst = 5, kCount = 300;
      std::vector<PagedHead> lists;
      for (int list = 0; list < kLists; ++list) {
        std::vector<std::vector<float>> numbers(2 * (kFirst + kCount + 9));
        for (auto& row : numbers) row = whole_numbers(kDim, random);
        lists.emplace_back(DType::BF16, kDim, numbers);
      }
      const std::vector<PagedRows> views{lists[0].view(), lists[1].view()};
      const std::vector<float> queries =
          whole_numbers(static_cast<size_t>(rows) * kHeads * kDim, random);
      const SpanVote vote{.k = 2, .clip = 4, .span = 7, .mispaired = mispaired};
      std::map<int32_t, int> votes;
      for (int i = 0; i < rows * kHeads; ++i) {
        const int head = i % kHeads;
        const size_t list = static_cast<size_t>(mispaired ? head % kLists : head / 2);
        const float* const query = queries.data() + i * kDim;
        for (const int32_t key : best_keys(query, lists[list], kFirst, kCount, vote.k)) {
          ++votes[key];
        }
      }
      const Rows want = plain_spans(votes, kFirst, kCount, vote);
      const View<const float> form = view_of(queries);
      AttendCall call;
      call.queries = {&form, 1};
      call.heads = kHeads;
      call.head_dim = kDim;
      at_every_isa([&] {
        const auto got = host_rows(spans.choose(call, views, kFirst, kCount, vote));
        EXPECT_EQ(Rows(got.begin(), got.end()), want);
      });
    }
  }
}

}  // namespace
}  // namespace longhaul
