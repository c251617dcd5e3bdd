// Ltri-LLM's phase code for the GPU, run on the host and compared with the host's operations.

#include "attention/methods/ltri/span_phases.h"

#include <gtest/gtest.h>

#include <random>

#include "attention/methods/ltri/block_votes.h"
#include "attention/methods/ltri/pair_phases.h"
#include "attention/methods/ltri/span_tasks.h"
#include "ops/view_of.h"

namespace longhaul::cuda {
namespace {

using testing_support::view_of;

/// Rows of a softmax map. Tokens of each stretch attend mostly to each other. Entries above the
/// diagonal are NaN.
std::vector<float> map_of(int n, int kind, std::mt19937& random) {
  std::uniform_real_distribution<float> draw(0, 1);
  std::vector<float> map(static_cast<size_t>(n) * static_cast<size_t>(n), NAN);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j <= i; ++j) {
      const bool near = i / 17 == j / 17;
      float x = draw(random) * (near ? 1.0f : 0.1f);
      if (kind == 1) x = std::round(4 * x) / 4;  // makes ties
      if (kind == 2) x = 0.5f;
      if (kind == 3 && !near) x = i % 2 == 0 ? 0.0f : -0.0f;
      map[static_cast<size_t>(i * n + j)] = x;
    }
  }
  return map;
}

std::vector<int32_t> in_phases(const DividedTokens& blocks, const SpanTokenRule& rule) {
  SpanTasks tasks = span_tasks(blocks, rule, nullptr);
  std::vector<float> scratch(static_cast<size_t>(tasks.blocks() * tasks.scratch_bytes) / 4, NAN);
  std::vector<int32_t> out(static_cast<size_t>(tasks.blocks() * tasks.record), -7);
  tasks.first.out = out.data();
  tasks.first.scratch = reinterpret_cast<std::byte*>(scratch.data());
  auto shared = std::make_unique<SpanShared>();
  for (int64_t b = 0; b < tasks.blocks(); ++b) {
    const SpanTask task = tasks.of(b);
    const SpanScratch memory(task.scratch, task.n);
    choose_span_tokens(HostBlock{}, *shared, task, memory.triangle, memory.sums);
  }
  return out;
}

TEST(SpanPhases, ChooseTheTokensThatTheHostChooses) {
  std::mt19937 random(5);
  std::uniform_int_distribution<int> votes_of(0, 9);
  int several = 0;
  for (const int n : {1, 2, 3, 16, 31, 64, 128, 200, 512}) {
    for (int kind = 0; kind < 4; ++kind) {
      const std::vector<float> map = map_of(n, kind, random);
      std::vector<float> votes(static_cast<size_t>(n) * 3);
      for (float& x : votes) x = static_cast<float>(votes_of(random));
      for (const SpanNeighbours neighbours :
           {SpanNeighbours::kRow, SpanNeighbours::kColumn, SpanNeighbours::kBoth}) {
        for (const bool own : {false, true}) {
          SpanTokenRule rule;
          rule.theta = own ? 0.9f : 0.35f;
          rule.phi = own ? 0.1f : 0.6f;
          rule.spans = own ? 4 : 9;
          rule.most = own ? 3 : 5;
          rule.lambda = kind == 0 ? 3 : 0.5f;
          rule.neighbours = neighbours;
          DividedTokens block{n, n, view_of(map), {}};
          if (!own) block.votes = view_of(votes);
          SpanTokens expected;
          longhaul::choose_span_tokens(host_queue(), block, rule, expected);
          const auto record = host(expected.numbers());
          EXPECT_EQ(in_phases(block, rule), std::vector<int32_t>(record.begin(), record.end()))
              << n << " tokens, kind " << kind << (own ? ", own votes" : "");
          several += record[0] > 1 ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(several, 50);
}

TEST(SpanPhases, BlocksFollowEachOtherAndSpansMayBeMany) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> votes_of(0, 9);
  for (const int n : {5, 48, 128}) {
    const int64_t tokens = 2 * n + n / 2;
    std::vector<float> maps;
    for (int b = 0; b < 3; ++b) {
      const std::vector<float> map = map_of(n, b, random);
      maps.insert(maps.end(), map.begin(), map.end());
    }
    maps.resize(static_cast<size_t>(tokens * n));
    for (const int heads : {1, 32, 70}) {  // 70: more votes than fit
      std::vector<float> votes(static_cast<size_t>(tokens * heads));
      for (float& x : votes) x = static_cast<float>(votes_of(random)) / 7;
      for (const int spans : {1, 33, 300}) {  // more than warps, and more than exist
        SpanTokenRule rule;
        rule.phi = 0.9f;
        rule.theta = 0.5f;
        rule.spans = spans;
        rule.most = spans == 1 ? n : 4;
        const DividedTokens blocks{tokens, n, view_of(maps), view_of(votes)};
        SpanTokens expected;
        longhaul::choose_span_tokens(host_queue(), blocks, rule, expected);
        const auto records = host(expected.numbers());
        EXPECT_EQ(in_phases(blocks, rule), std::vector<int32_t>(records.begin(), records.end()))
            << n << " tokens, " << heads << " heads, " << spans << " spans";
      }
    }
  }
}

TEST(PairPhases, ChooseTheBlocksThatTheHostChooses) {
  std::mt19937 random(6);
  std::uniform_int_distribution<int> draw(0, 3);
  std::normal_distribution<float> normal;
  for (const int64_t rows : {2, 17, 1023, 1024, 1025, 5000}) {
    for (int kind = 0; kind < 3; ++kind) {
      std::vector<float> weights, scores;
      for (int64_t i = 0; i < rows; ++i) {
        weights.push_back(kind == 0 ? 0.5f : static_cast<float>(draw(random)) / 2);
        scores.push_back(kind == 2 ? static_cast<float>(draw(random)) - 1 : normal(random));
      }
      for (const int64_t k : {int64_t{0}, int64_t{1}, rows / 3, rows - 1}) {
        std::vector<float> equals(static_cast<size_t>(rows), NAN);
        std::vector<int32_t> got(static_cast<size_t>(k), -7);
        auto shared = std::make_unique<SelectShared>();
        select_pairs(HostBlock{}, *shared,
                     {weights.data(), scores.data(), rows, k, equals.data(), got.data()});
        BlockVote memory;
        const auto best =
            host_rows(most_weighted(host_queue(), view_of(weights), view_of(scores), k, memory));
        EXPECT_EQ(got, std::vector<int32_t>(best.begin(), best.end())) << rows << ' ' << k;
      }
    }
  }
}

}  // namespace
}  // namespace longhaul::cuda
