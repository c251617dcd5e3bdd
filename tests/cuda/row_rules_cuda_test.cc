// Row rules on a GPU compared with the host's, and the short copies that evictions use.

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "attention/methods/adakv/allocate_rows.h"
#include "attention/methods/fastgen/hybrid_rules.h"
#include "attention/methods/roco/steady_scores.h"
#include "cuda/on_device.h"
#include "cuda/queued.h"
#include "ops/view_of.h"

namespace longhaul::cuda {
namespace {

using testing_support::view_of;
using Numbers = std::vector<float>;

class RowRules : public OnQueue {
 protected:
  /// Normally distributed values, or values with many ties.
  Numbers numbers(int kind, int64_t count) {
    Numbers all = random_floats(static_cast<size_t>(count), static_cast<uint32_t>(random_()));
    for (float& x : all) x = kind == 1 ? std::round(std::abs(4 * x)) / 8 : std::abs(x);
    return all;
  }
  int64_t below(int64_t end) { return static_cast<int64_t>(random_() % static_cast<size_t>(end)); }

  std::mt19937 random_{11};
};

TEST_F(RowRules, SteadyScoresEqualTheHosts) {
  std::vector<Numbers> sums, squares, seen, here;
  std::vector<SteadyList> lists, lists_there;
  for (const int64_t n : {1, 65, 1000, 2304, 30000}) {
    Numbers sum = numbers(static_cast<int>(n % 2), n), square = sum, saw = sum;
    for (size_t i = 0; i < sum.size(); ++i) {
      saw[i] = static_cast<float>(1 + below(50));
      square[i] = sum[i] * sum[i] / saw[i] + static_cast<float>(below(3));
    }
    sums.push_back(sum), squares.push_back(square), seen.push_back(saw);
    here.emplace_back(sum.size());
  }
  for (size_t l = 0; l < sums.size(); ++l) {
    const int64_t n = std::ssize(sums[l]);
    const SteadyRule rule{n / 100, n / 50, n / 2};
    lists.push_back(
        {{view_of(sums[l]), view_of(squares[l]), view_of(seen[l])}, rule, view_of(here[l])});
    lists_there.push_back(
        {{there(sums[l]), there(squares[l]), there(seen[l])}, rule, empty_there<float>(n)});
  }
  Array<float> scratch;
  longhaul::steady_scores(host_queue(), lists, scratch);
  EXPECT_EQ(waits_in([&] { longhaul::steady_scores(queue(), lists_there, scratch); }), 0);
  for (size_t l = 0; l < lists.size(); ++l) {
    EXPECT_EQ(OnQueue::here(lists_there[l].scores), here[l]) << here[l].size();
  }
}

TEST_F(RowRules, SharedBudgetsAreAllocatedAsOnTheHost) {
  std::vector<SharedSelection> selections(8), selections_there(8);
  for (int round = 0; round < 20; ++round) {
    std::vector<Numbers> lists;
    std::vector<View<const float>> scores, scores_there;
    for (int l = 0; l < 8; ++l) {
      lists.push_back(numbers(round % 2, 50 + below(round == 7 ? 40000 : 3000)));
    }
    for (const Numbers& list : lists) {
      scores.push_back(view_of(list));
      scores_there.push_back(there(list));
    }
    const RowsToKeep keep{4, 32, 8 * (50 + below(500))};
    const int64_t guaranteed = below(10);
    std::vector<RowList> kept(8), kept_there(8);
    const View<int32_t> counts = empty_there<int32_t>(8);
    allocate_rows(host_queue(), scores, keep, guaranteed, selections, kept, {});
    EXPECT_EQ(waits_in([&] {
                allocate_rows(queue(), scores_there, keep, guaranteed, selections_there, kept_there,
                              counts);
              }),
              0);
    if (kept_there[0].count.empty()) continue;  // all rows are kept
    const std::vector<int32_t> counted = read_counts(queue(), counts);
    for (size_t l = 0; l < 8; ++l) {
      const auto want = host_rows(kept[l]);
      ASSERT_EQ(counted[l], std::ssize(want)) << "round " << round << ", list " << l;
      ASSERT_EQ(OnQueue::here(kept_there[l].rows.part(0, counted[l])),
                std::vector<int32_t>(want.begin(), want.end()))
          << "round " << round << ", list " << l;
    }
  }
}

TEST_F(RowRules, JudgeAndListAsTheHostDoes) {
  JudgedRows memory, memory_there;
  for (int round = 0; round < 10; ++round) {
    std::vector<Numbers> attention, recent;
    std::vector<std::vector<int32_t>> tokens;
    std::vector<JudgedList> lists, lists_there;
    constexpr int64_t kEnd = 20000;
    std::vector<uint8_t> classes(kEnd - 100);
    for (uint8_t& each : classes) each = static_cast<uint8_t>(below(8) == 0 ? 1 + below(2) : 0);
    const View<const uint8_t> classes_there = there(classes);
    for (int l = 0; l < 12; ++l) {
      const int64_t rows = 1 + below(l == 3 ? kEnd : 3000);
      attention.push_back(numbers(l % 2, rows));
      recent.push_back(attention.back());
      for (float& x : recent.back()) x *= static_cast<float>(below(3)) / 2;
      tokens.emplace_back(static_cast<size_t>(rows / 2));
      std::iota(tokens.back().begin(), tokens.back().end(), 0);
    }
    const HybridRules rules{0.002 * (round + 0.37), 0.01, 0.02, 4};
    for (size_t l = 0; l < attention.size(); ++l) {
      JudgedList list{.rows = std::ssize(attention[l]),
                      .tokens = {view_of(tokens[l]), kEnd - std::ssize(attention[l])},
                      .classes = view_of(classes),
                      .attention = view_of(attention[l]),
                      .recent = view_of(recent[l]),
                      .begin = below(50),
                      .end = kEnd,
                      .heads = 4,
                      .rule = l % 3 == 0 ? static_cast<int>(l / 3) : -1};
      lists.push_back(list);
      list.tokens.listed = there(tokens[l]);
      list.classes = classes_there;
      list.attention = there(attention[l]);
      list.recent = there(recent[l]);
      lists_there.push_back(list);
    }
    const auto want = rules.judge(host_queue(), lists, memory);
    std::vector<HybridRules::Verdict> got;
    EXPECT_EQ(waits_in([&] { got = rules.judge(queue(), lists_there, memory_there); }), 1);
    std::vector<int64_t> counts;
    for (size_t l = 0; l < lists.size(); ++l) {
      ASSERT_EQ(got[l].rule, want[l].rule) << "round " << round << ", list " << l;
      ASSERT_EQ(got[l].rows, want[l].rows) << "round " << round << ", list " << l;
      lists[l].rule = lists_there[l].rule = std::min<int>(want[l].rule, HybridRules::kWindow);
    }
    const auto of_rules = rules.judge(host_queue(), lists, memory);
    for (const auto& each : of_rules) counts.push_back(each.rows);
    const auto kept = rules.kept(host_queue(), lists, counts, memory);
    const auto kept_there = rules.kept(queue(), lists_there, counts, memory_there);
    for (size_t l = 0; l < lists.size(); ++l) {
      const auto rows = host_rows(kept[l]);
      ASSERT_EQ(OnQueue::here(kept_there[l].rows), std::vector<int32_t>(rows.begin(), rows.end()));
    }
  }
}

using PieceCopies = OnQueue;

TEST_F(PieceCopies, ArriveWhole) {
  std::mt19937 random(3);
  const size_t sizes[] = {4, 8, 12, 4096, 0, 3000, 3072, 3076, 7, 8192, 8196, 100000};
  std::vector<std::byte> from(500000);
  for (std::byte& each : from) each = static_cast<std::byte>(random());
  const View<std::byte> a = empty_there<std::byte>(500000), b = empty_there<std::byte>(500000);
  queue().device().clear(a.address(), from.size());
  queue().device().clear(b.address(), from.size());
  std::vector<std::byte> expected(from.size());
  std::vector<DeviceBytes> sent, copied;
  size_t at = 0;
  for (int round = 0; round < 20; ++round) {
    for (const size_t size : sizes) {
      if (round > 0 && size > 4096) continue;
      const size_t shift = round % 3 == 2 ? 4 : 16;
      sent.push_back({from.data() + at, a.address() + at, size});
      copied.push_back({a.address() + at, b.address() + at, size});
      std::copy_n(from.begin() + static_cast<int64_t>(at), size,
                  expected.begin() + static_cast<int64_t>(at));
      at += (size + 15) / 16 * 16 + shift;
      ASSERT_LT(at, from.size());
    }
  }
  EXPECT_EQ(waits_in([&] {
              queue().device().upload_all(sent);
              queue().device().copy_all(copied);
            }),
            0);
  EXPECT_EQ(here(a), expected);
  EXPECT_EQ(here(b), expected);
}

}  // namespace
}  // namespace longhaul::cuda
