// Division of blocks and look-up for Ltri-LLM on a GPU compared with the host's, without a wait.

#include <gtest/gtest.h>

#include <cmath>

#include "attention/methods/ltri/block_votes.h"
#include "attention/methods/ltri/span_index.h"
#include "base/on_device.h"
#include "cuda/paged_heads.h"
#include "cuda/queued.h"
#include "ops/blocks/block_rows.h"

namespace longhaul::cuda {
namespace {

class CudaSpans : public OnQueue {
 protected:
  /// A copy of the tokens on the device.
  SpanTokens copied(const SpanTokens& tokens) {
    SpanTokens copy;
    copy.resize(queue(), tokens.blocks(), tokens.spans(),
                static_cast<int>(tokens.most() / tokens.spans()));
    const auto from = host(tokens.numbers());
    queue().device().upload(from.data(), copy.numbers().address(), from.size_bytes());
    return copy;
  }
};

SpanTokenRule rule_of(int spans, int most) {
  SpanTokenRule rule;
  rule.theta = 0.6f;
  rule.phi = 0.3f;
  rule.spans = spans;
  rule.most = most;
  rule.lambda = 2;
  return rule;
}

/// Maps of blocks in which most tokens attend to a few before them.
std::vector<float> maps_of(int64_t tokens, int block) {
  std::vector<float> maps = random_floats(static_cast<size_t>(tokens * block), 3);
  for (size_t i = 0; i < maps.size(); ++i) {
    const size_t row = i / static_cast<size_t>(block) % static_cast<size_t>(block);
    const size_t column = i % static_cast<size_t>(block);
    maps[i] = std::abs(maps[i]) * (row / 23 == column / 23 ? 1.0f : 0.05f);
    if (column > row) maps[i] = NAN;
  }
  return maps;
}

SpanTokens tokens_of_maps(int64_t tokens, int block, const SpanTokenRule& rule) {
  const std::vector<float> maps = maps_of(tokens, block);
  SpanTokens chosen;
  choose_span_tokens(host_queue(), {tokens, block, std::span<const float>(maps), {}}, rule, chosen);
  return chosen;
}

TEST_F(CudaSpans, TokensAreTheHosts) {
  for (const int block : {1, 16, 128, 512}) {
    for (const int64_t tokens : {int64_t{block}, int64_t{3} * block, int64_t{2} * block + 1}) {
      const std::vector<float> maps = maps_of(tokens, block);
      std::vector<float> votes = random_floats(static_cast<size_t>(tokens * 5), 4);
      for (float& x : votes) x = std::round(x);
      for (const bool own : {false, true}) {
        SpanTokens here_tokens, there_tokens;
        DividedTokens blocks{tokens, block, std::span<const float>(maps), {}};
        if (!own) blocks.votes = std::span<const float>(votes);
        const SpanTokenRule rule = rule_of(own ? 4 : 7, 3);
        choose_span_tokens(host_queue(), blocks, rule, here_tokens);
        DividedTokens blocks_there = blocks;
        blocks_there.maps = there(maps);
        if (!own) blocks_there.votes = there(votes);
        EXPECT_EQ(waits_in([&] { choose_span_tokens(queue(), blocks_there, rule, there_tokens); }),
                  0);
        EXPECT_EQ(here(there_tokens.numbers()), here(here_tokens.numbers()))
            << tokens << " tokens of " << block;
      }
    }
  }
}

TEST_F(CudaSpans, KeysAreTheHosts) {
  const SpanTokens tokens = tokens_of_maps(3 * 32, 32, rule_of(4, 3));
  const SpanTokens tokens_there = copied(tokens);
  for (const DType type : {DType::F32, DType::F16, DType::BF16, DType::Q8_0, DType::Q4_0}) {
    const PagedHeads lists(type, 96, 2, 50 + 3 * 32, 5);
    const PagedRows on_host[] = {lists.on_host(0), lists.on_host(1)};
    const PagedRows on_device[] = {lists.on_device(0), lists.on_device(1)};
    for (const size_t count : {size_t{1}, size_t{2}}) {
      Array<float> memory, memory_there;
      const View<float> expected =
          gather_span_keys(host_queue(), std::span(on_host).first(count), 50, 32, tokens, memory);
      View<float> keys;
      EXPECT_EQ(waits_in([&] {
                  keys = gather_span_keys(queue(), std::span(on_device).first(count), 50, 32,
                                          tokens_there, memory_there);
                }),
                0);
      EXPECT_EQ(here(keys), here(expected)) << static_cast<int>(type);
    }
  }
}

TEST_F(CudaSpans, MeansAreTheHosts) {
  for (const int spans : {1, 4, 7}) {
    const SpanTokens tokens = tokens_of_maps(3 * 32 + 5, 32, rule_of(spans, 3));
    const SpanTokens tokens_there = copied(tokens);
    for (const int64_t width : {1, 64, 200}) {
      const std::vector<float> keys =
          random_floats(static_cast<size_t>(tokens.blocks() * tokens.most() * width), 7);
      const View<float> keys_there = there(keys);
      SpanMeans expected, got;
      mean_of_spans(host_queue(), tokens, std::span<const float>(keys), expected);
      EXPECT_EQ(waits_in([&] { mean_of_spans(queue(), tokens_there, keys_there, got); }), 0);
      EXPECT_EQ(here(got.tokens.numbers()), here(expected.tokens.numbers())) << spans;
      EXPECT_EQ(here(got.keys.view()), here(expected.keys.view())) << spans << " width " << width;
    }
  }
}

TEST_F(CudaSpans, QueriesAreTheHosts) {
  constexpr int kRows = 70, kHeads = 6, kDim = 64;
  const SpanTokens tokens = tokens_of_maps(kRows, 32, rule_of(4, 3));
  const SpanTokens tokens_there = copied(tokens);
  const std::vector<float> q = random_floats(kRows * kHeads * kDim, 6);
  const View<float> q_there = there(q);
  for (const int head : {-1, 4}) {
    for (const bool sum : {false, true}) {
      const SpanQueries queries{std::span<const float>(q), kHeads, 2, kDim, head, sum};
      SpanQueries queries_there = queries;
      queries_there.q = q_there;
      VectorList expected, got;
      const auto compare = [&] {
        ASSERT_EQ(here(got.counted()), here(expected.counted()));
        const auto numbers = static_cast<size_t>(expected.count() * expected.width());
        std::vector<float> a = here(got.numbers()), b = here(expected.numbers());
        a.resize(numbers);
        b.resize(numbers);
        expect_close(a, b, 1e-6, 1e-6);
      };
      for (const SomeBlocks& blocks : {SomeBlocks{0, tokens.blocks()}, SomeBlocks{1, 1}}) {
        set_span_queries(host_queue(), queries, 32, tokens, blocks, expected);
        const auto on_device = [&] {
          set_span_queries(queue(), queries_there, 32, tokens_there, blocks, got);
        };
        EXPECT_EQ(waits_in(on_device), 0);
        compare();
      }
      set_row_queries(host_queue(), queries, 3, 8, expected);
      EXPECT_EQ(waits_in([&] { set_row_queries(queue(), queries_there, 3, 8, got); }), 0);
      compare();
    }
  }
}

TEST_F(CudaSpans, AnIndexScoresAsTheHosts) {
  constexpr int64_t kBlocks = 150;
  for (const DType type : {DType::F32, DType::BF16, DType::Q4_0}) {
    for (const int64_t width : {64, 128, 192, 1024}) {
      SpanIndex index(4, 3), index_there(4, 3);
      SpanSlots slots_there;
      const SpanTokens tokens = tokens_of_maps(kBlocks / 3 * 32, 32, rule_of(4, 3));
      const SpanTokens tokens_there = copied(tokens);
      for (int part = 0; part < 3; ++part) {
        std::vector<float> keys =
            random_floats(static_cast<size_t>(tokens.blocks() * tokens.most() * width),
                          static_cast<uint32_t>(10 + part));
        for (size_t i = 0; i < keys.size(); ++i) {
          keys[i] += static_cast<float>(i % static_cast<size_t>(width) % 7);  // the common part
        }
        const View<float> keys_there = there(keys);
        index.add_blocks(host_queue(), tokens, view_of(keys), type);
        EXPECT_EQ(
            waits_in([&] { index_there.add_blocks(queue(), tokens_there, keys_there, type); }), 0);
        slots_there.append(queue(), tokens_there, there(keys), type);
      }
      ASSERT_EQ(index_there.blocks(), kBlocks);
      for (const int64_t count : {1, 2, 5, 19}) {
        const std::vector<float> numbers = random_floats(static_cast<size_t>(count * width), 20);
        VectorList queries, queries_there;
        queries.resize(host_queue(), count, width);
        queries_there.resize(queue(), count, width);
        std::copy(numbers.begin(), numbers.end(), host(queries.numbers()).begin());
        const auto known = static_cast<int32_t>(count);
        host(queries.counted())[0] = known;
        queue().device().upload(numbers.data(), queries_there.numbers().address(),
                                numbers.size() * sizeof(float));
        queue().device().upload(&known, queries_there.counted().address(), sizeof known);
        for (const SpanSimilarity rule : {SpanSimilarity::kSum, SpanSimilarity::kMax}) {
          std::vector<float> scores(kBlocks);
          SpanSearch search;
          index.scores(host_queue(), queries, rule, search, view_of(scores));
          const View<float> scores_there = empty_there<float>(kBlocks);
          EXPECT_EQ(waits_in([&] {
                      index_there.scores(queue(), queries_there, rule, search, scores_there);
                    }),
                    0);
          // The host rounds queries to 8 bits or to bf16.
          const double loose = type == DType::F32 ? 1e-4 : 0.03;
          const float largest = *std::max_element(scores.begin(), scores.end());
          expect_close(here(scores_there), scores, loose,
                       loose * std::abs(static_cast<double>(largest)));
          // The two parts, between which ranks sum their products, give the same bits.
          const int64_t rows = rule == SpanSimilarity::kSum ? 4 : 12;
          const SlottedSpans spans = slots_there.view();
          const View<float> products = empty_there<float>(kBlocks * rows * count);
          const View<float> best = empty_there<float>(kBlocks);
          ASSERT_TRUE(on_device(kSpanProducts, queue(), spans, queries_there, rule, products));
          ASSERT_TRUE(
              on_device(kBestProducts, queue(), spans, queries_there, rule, products, best));
          EXPECT_EQ(here(best), here(scores_there));
        }
      }
    }
  }
}

TEST_F(CudaSpans, VotesAreTheHosts) {
  for (const int64_t blocks : {17, 1024, 9000}) {
    const auto count = static_cast<size_t>(blocks);
    std::vector<float> first = random_floats(count, 7), second = random_floats(count, 8);
    for (float& x : second) x = std::round(x);  // makes ties
    std::vector<int32_t> chosen_first, chosen_second;
    for (int32_t i = 1; i < blocks; i += 3) chosen_first.push_back(i);
    for (int32_t i = 0; i < blocks; i += 2) chosen_second.push_back(i);
    BlockVotes votes, votes_there;
    const View<float> first_there = there(first), second_there = there(second);
    const View<int32_t> a = there(chosen_first), b = there(chosen_second);
    votes.clear(host_queue(), blocks);
    votes.add(host_queue(), {std::span<const int32_t>(chosen_first), {}}, 0.5f, view_of(first));
    votes.add(host_queue(), {std::span<const int32_t>(chosen_second), {}}, 0.5f, view_of(second));
    for (const int64_t k : {int64_t{1}, int64_t{16}, blocks / 2, blocks - 1}) {
      RowList best;
      EXPECT_EQ(waits_in([&] {
                  votes_there.clear(queue(), blocks);
                  votes_there.add(queue(), {a, {}}, 0.5f, first_there);
                  votes_there.add(queue(), {b, {}}, 0.5f, second_there);
                  best = votes_there.best(queue(), k);
                }),
                0);
      EXPECT_EQ(here(best.rows), here(votes.best(host_queue(), k).rows)) << blocks << ' ' << k;
    }
  }
}

TEST_F(CudaSpans, AStoredListStaysThereAndARunJoinsIt) {
  const std::vector<int32_t> blocks{1, 5, 8};
  const View<int32_t> blocks_there = there(blocks);
  StoredList list;
  Array<int32_t> memory;
  RowList joined;
  EXPECT_EQ(waits_in([&] {
              list.set(queue(), {blocks_there, {}});
              joined = with_run(queue(), list.list(), 9, 12, memory);
            }),
            0);
  EXPECT_EQ(here(list.list().rows), blocks);
  EXPECT_EQ(here(joined.rows), (std::vector<int32_t>{1, 5, 8, 9, 10, 11}));
  list.set_first(2);
  EXPECT_EQ(here(with_run(queue(), list.list(), 9, 10, memory).rows),
            (std::vector<int32_t>{0, 1, 9}));
}

}  // namespace
}  // namespace longhaul::cuda
