// Heads that attend to the tokens that the reply copies: the rule worked by hand, the strongest
// keys compared with a plain loop, and nano's heads.

#include "eval/retrieval_heads.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "attention/methods/duo/gated_heads.h"
#include "eval/head_profiles.h"
#include "eval/nano.h"
#include "format/temp_folder.h"
#include "text/number_lines.h"

namespace longhaul {
namespace {

using testing_support::nano;
using testing_support::test_data;

constexpr int32_t A = 10, B = 11, C = 12, D = 13, X = 99;

TEST(CopyScore, CountsTokensThatAreCopiedFromTheAnswer) {
  const std::vector<int32_t> prompt{1, 2, A, B, C, D, A, 3};
  const std::vector<int64_t> answer{2, 3, 4, 5};
  const CopyScore score(prompt, answer);
  const int32_t generated[] = {A, B, X, D};
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += score.of(2 + i, generated[i]);
  EXPECT_DOUBLE_EQ(sum, 0.75) << "X is not what stands at C";
  EXPECT_DOUBLE_EQ(score.of(6, A), 0) << "the same token, outside the answer";
  EXPECT_DOUBLE_EQ(score.of(-1, A), 0);
}

/// Query heads 2k and 2k + 1 of nano share KV head k.
TEST(StrongestKeys, AreThoseOfAPlainLoop) {
  SessionOptions options;
  options.compute = Compute::kF32;
  options.kv_type = DType::F32;
  Session session(nano(), options);
  std::vector<int32_t> prompt;
  for (int i = 0; i < 150; ++i) prompt.push_back(3 + (i * 7919) % 4000);
  ASSERT_TRUE(session.prefill(prompt));
  StrongestKeys strongest(nano()->model().shape);
  std::vector<int32_t> expected;
  session.observe([&](LayerStep step, std::span<const AttendTask>) {
    strongest.observe(step);
    const std::span<const float> q = host(step.rotated_q());
    for (int head = 0; head < 6; ++head) {
      int32_t best = -1;
      double most = 0;
      for (int32_t key = 0; key <= 150; ++key) {
        const auto* k = reinterpret_cast<const float*>(
            step.store->rows(step.layer, head / 2).pages[key / 64] + size_t{256} * (key % 64));
        double sum = 0;
        for (int d = 0; d < 64; ++d)
          sum += double{q[static_cast<size_t>(head * 64 + d)]} * double{k[d]};
        if (best < 0 || sum > most) {
          most = sum;
          best = key;
        }
      }
      expected.push_back(best);
    }
  });
  session.decode(77);
  ASSERT_EQ(expected.size(), 72u);
  for (size_t i = 0; i < 72; ++i) {
    EXPECT_EQ(strongest.at(0, i / 6, i % 6), expected[i]) << i;
  }
}

TEST(RetrievalHeads, OfNanoAreThoseThatItsReadmeNames) {
  HeadSearch search;
  search.lengths = {512, 1024};
  search.samples = 3;
  search.chat = nano()->chat_template();
  std::vector<int> steps;
  search.progress = [&](int done, int total) {
    EXPECT_EQ(total, 6);
    steps.push_back(done);
  };
  const FoundHeads found = find_retrieval_heads(nano(), test_data(), search);
  EXPECT_TRUE(found.finished);
  EXPECT_EQ(found.asked, 6);
  EXPECT_GE(found.counted, 5);
  EXPECT_EQ(steps, (std::vector<int>{1, 2, 3, 4, 5, 6}));
  for (const auto& [layer, head] : {std::pair{8, 4}, {5, 0}, {5, 2}, {7, 4}}) {
    EXPECT_GT(found.scores[static_cast<size_t>(layer)][static_cast<size_t>(head)], 0.4)
        << layer << "." << head;
  }
  for (size_t layer = 0; layer < 4; ++layer) {
    EXPECT_LT(*std::ranges::max_element(found.scores[layer]), 0.1) << layer;
  }
}

TEST(RetrievalHeads, BecomeOptionsOfTheMethodsThatGoByThem) {
  const HeadScores scores{{0.05, 0.3, 0.3, 0}, {0, 0, 0, 0}, {0.9, 1.2, 0.1, 0.2}};
  const std::vector<RetrievalHead> heads = retrieval_heads(scores, 0.1);
  ASSERT_EQ(heads.size(), 6u);
  EXPECT_EQ(heads[0].layer, 2);
  EXPECT_EQ(heads[0].head, 1);
  EXPECT_EQ(heads[2].head, 1) << "of equal ones the lower";
  EXPECT_EQ(ltri_heads(heads), "0.1:0.30/2.1:1.20");
  EXPECT_NO_THROW(MethodSpec::parse("ltri:heads=" + ltri_heads(heads)));
  const std::vector<int> kv_heads{2, 2, 4};
  const testing_support::TempFolder folder;
  FoundHeads found;
  found.scores = scores;
  found.distant = {{0, 0, 0, 0}, {0, 0.2, 0.5, 0}, {0, 0, 0, 1}};
  const HeadGates gates = duo_gates(found, kv_heads);
  const HeadGates expected{{0.2997, 0.2997}, {0.0002, 0.0005}, {0.8991, 0.999, 0.0999, 0.2008}};
  EXPECT_EQ(read_gates(folder.write("gates.tsv", number_lines_text(gates)), kv_heads), expected)
      << "heads of no score are told apart by how far they look";
}

TEST(RetrievalHeads, ThoseThatOnlyTheirPlaceChoseAreCounted) {
  EXPECT_EQ(chosen_by_place({{0.9, 0.1}, {0.2, 0.8}}, 0.5), 0);
  // (0,0) and (0,1) in addition to (1,0).
  EXPECT_EQ(chosen_by_place({{0, 0, 0}, {0.9, 0, 0}}, 0.5), 2);
  EXPECT_EQ(chosen_by_place({{0, 0}, {0, 0}}, 1), 0);
}

TEST(RetrievalHeads, WhatStreamingHeadsStillSeeIsNotDistant) {
  EXPECT_FALSE(beyond_streaming(63, 5000));
  EXPECT_TRUE(beyond_streaming(64, 5000));
  EXPECT_TRUE(beyond_streaming(4744, 5000));
  EXPECT_FALSE(beyond_streaming(4745, 5000));
}

TEST(RetrievalHeads, ACancelledSearchSaysSo) {
  CancelFlag cancel;
  HeadSearch search;
  search.lengths = {512};
  search.cancel = &cancel;
  search.progress = [&](int, int) { cancel.request(); };
  EXPECT_FALSE(find_retrieval_heads(nano(), test_data(), search).finished);
}

}  // namespace
}  // namespace longhaul
