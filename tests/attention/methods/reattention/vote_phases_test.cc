// The GPU's votes and spans, run by a loop in place of threads.

#include "attention/methods/reattention/vote_phases.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "attention/methods/reattention/votes.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using VotePhaseRows = std::vector<int32_t>;
using testing_support::view_of;

/// State that the device keeps between votes.
struct Counters {
  explicit Counters(int64_t numbers)
      : counters(static_cast<size_t>(numbers)), marks(static_cast<size_t>(numbers + 31) / 32) {}
  std::vector<uint32_t> counters, marks;
  uint32_t voted = 0;
};

VotePhaseRows vote_in_phases(const VotePhaseRows& votes, int64_t numbers, int64_t k,
                             Counters& kept) {
  const auto shared = std::make_unique<cuda::ChoiceShared>();
  const auto cast = std::ssize(votes);
  VotePhaseRows found(static_cast<size_t>(std::min(numbers, cast)) + 1, -7);
  VotePhaseRows rows(static_cast<size_t>(std::min(k, std::min(numbers, cast))) + 1, -7);
  int32_t count = -7;
  const cuda::VoteTask task{
      votes.data(),      cast,        numbers,      k,           kept.counters.data(),
      kept.marks.data(), &kept.voted, found.data(), rows.data(), &count};
  const int64_t middle = cast / 3;  // two thread blocks count
  cuda::tally_votes(cuda::HostBlock{}, task, middle, cast);
  cuda::tally_votes(cuda::HostBlock{}, task, 0, middle);
  cuda::choose_voted(cuda::HostBlock{}, *shared, task);
  EXPECT_EQ(found.back(), -7);
  EXPECT_EQ(rows.back(), -7);
  EXPECT_TRUE(count >= 0 && count < std::ssize(rows)) << count;
  rows.resize(static_cast<size_t>(count));
  for (const uint32_t counter : kept.counters) EXPECT_EQ(counter, 0u);
  for (const uint32_t word : kept.marks) EXPECT_EQ(word, 0u);
  EXPECT_EQ(kept.voted, 0u);
  return rows;
}

TEST(VotePhases, ChooseWhatTheHostChooses) {
  std::mt19937 random(1);
  for (const int64_t numbers : {1, 31, 32, 33, 1000, 5000, 140000}) {
    Counters kept(numbers);
    for (const int64_t cast : {0, 1, 7, 128, 3000, 9000}) {
      for (const int64_t k : {int64_t{0}, int64_t{1}, int64_t{5}, int64_t{127}, cast}) {
        VotePhaseRows votes(static_cast<size_t>(cast));
        for (int32_t& vote : votes) {
          const auto any = static_cast<int64_t>(random()) % (numbers + 1) - 1;
          vote = static_cast<int32_t>(random() % 2 == 0 ? any : std::min<int64_t>(any, 40));
        }
        VoteCount memory;
        const RowList list = most_voted(host_queue(), view_of(votes), numbers, k, memory);
        const auto expected = host_rows(list);
        EXPECT_EQ(vote_in_phases(votes, numbers, k, kept),
                  VotePhaseRows(expected.begin(), expected.end()))
            << numbers << " numbers, " << cast << " votes, the best " << k;
      }
    }
  }
}

TEST(SpanPhases, CoverWhatTheHostsCover) {
  std::mt19937 random(2);
  const auto shared = std::make_unique<cuda::ExpandShared>();
  for (const int64_t end : {1, 64, 4000, 70000}) {
    for (const int64_t span : {1, 2, 7, 32, 5000}) {
      for (const int every : {1, 3, 40, 100000}) {
        VotePhaseRows chosen;
        for (int32_t row = 0; row < end; ++row) {
          if (random() % static_cast<uint32_t>(every) == 0) chosen.push_back(row);
        }
        const VotePhaseRows count = {static_cast<int32_t>(chosen.size())};
        VotePhaseRows listed = chosen;
        listed.resize(chosen.size() + 3);  // capacity for more
        const RowList list{view_of(listed), view_of(count)};
        SpanRows memory;
        const RowList spans = expand_spans(host_queue(), list, span, end, 11, memory);
        const auto expected = host_rows(spans);
        VotePhaseRows rows(expected.size() + 1, -7);
        int32_t written = -7;
        cuda::expand_spans(cuda::HostBlock{}, *shared,
                           {listed.data(), count.data(), std::ssize(listed), span, end, 11,
                            rows.data(), &written});
        EXPECT_EQ(rows.back(), -7);
        rows.pop_back();
        EXPECT_EQ(written, std::ssize(expected));
        EXPECT_EQ(rows, VotePhaseRows(expected.begin(), expected.end())) << end << ", " << span;
      }
    }
  }
}

}  // namespace
}  // namespace longhaul
