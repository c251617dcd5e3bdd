#include "attention/methods/ltri/span_index.h"

#include <gtest/gtest.h>

#include "format/temp_folder.h"
#include "ops/core/fill.h"
#include "ops/fake_device.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;
using testing_support::view_of;

void add_span(SpanIndex& index, const std::vector<float>& vectors, int64_t width, DType type) {
  index.add_span(view_of(vectors), width, type);
}

VectorList list_of(const std::vector<float>& vectors, int64_t width) {
  VectorList list;
  list.resize(host_queue(), std::ssize(vectors) / width + 2, width);
  copy(host_queue(), view_of(vectors), list.numbers().part(0, std::ssize(vectors)));
  host(list.counted())[0] = static_cast<int32_t>(std::ssize(vectors) / width);
  return list;
}

std::vector<float> scores_of(SpanIndex& index, const std::vector<float>& queries, int64_t width,
                             SpanSimilarity rule) {
  const VectorList list = list_of(queries, width);
  std::vector<float> scores(static_cast<size_t>(index.blocks()), 1e20f);
  SpanSearch memory;
  index.scores(host_queue(), list, rule, memory, view_of(scores));
  return scores;
}

/// Error of sums of products of small integers with largest value `most`. It is zero, except for
/// AVX2's products of values rounded to 15 bits and a sign.
float rounding(float most) {
  return std::string_view(product_name(Compute::kBest)) == "int16" ? most * 0x1p-14f : 0;
}

/// Three blocks: spans {(1,0), (0,2)} and {(3,1)}; {(-1,-1)}; {(0,1), (0,1)}.
SpanIndex three_blocks() {
  SpanIndex index(8, 64);
  add_span(index, {1, 0, 0, 2}, 2, DType::BF16);
  add_span(index, {3, 1}, 2, DType::BF16);
  index.end_block();
  add_span(index, {-1, -1}, 2, DType::BF16);
  index.end_block();
  add_span(index, {0, 1, 0, 1}, 2, DType::BF16);
  index.end_block();
  return index;
}

TEST(SpanIndex, SumsPairsOfASpanAndTakesTheBestSpan) {
  SpanIndex index = three_blocks();
  const std::vector<float> query{1, 2};
  EXPECT_EQ(scores_of(index, query, 2, SpanSimilarity::kSum), (std::vector<float>{5, -3, 4}));
  EXPECT_EQ(scores_of(index, query, 2, SpanSimilarity::kMax), (std::vector<float>{5, -3, 2}));
}

TEST(SpanIndex, TheBestOfSeveralQueriesCounts) {
  SpanIndex index = three_blocks();
  std::vector<float> queries;
  for (int i = 0; i < 19; ++i) queries.insert(queries.end(), {0, 0});
  queries.insert(queries.end(), {-5, 0});
  const std::vector<float> scores = scores_of(index, queries, 2, SpanSimilarity::kSum);
  EXPECT_NEAR(scores[0], 0, rounding(5));
  EXPECT_NEAR(scores[1], 5, rounding(5));
  EXPECT_NEAR(scores[2], 0, rounding(5));
}

TEST(SpanIndex, WithOneVectorEachAScoreIsTheLargestProduct) {
  SpanIndex index(8, 64);
  for (const float x : {2.0f, -7.0f}) add_span(index, {x}, 1, DType::BF16);
  index.end_block();
  const std::vector<float> query{-1};
  EXPECT_EQ(scores_of(index, query, 1, SpanSimilarity::kSum), (std::vector<float>{7}));
  EXPECT_EQ(scores_of(index, query, 1, SpanSimilarity::kMax), (std::vector<float>{7}));
}

class SpanIndexTypes : public testing::TestWithParam<DType> {};

TEST_P(SpanIndexTypes, ManyBlocksScoreAsEachForItself) {
  constexpr int64_t kWidth = 3;
  SpanIndex index(8, 64);
  std::vector<std::vector<std::vector<float>>> blocks;  // [block][span] of concatenated vectors
  unsigned state = 1;
  const auto next = [&] {
    return static_cast<float>((state = state * 1103515245 + 12345) >> 20 & 63);
  };
  for (int b = 0; b < 150; ++b) {
    auto& spans = blocks.emplace_back();
    for (int s = 0; s <= b % 3; ++s) {
      auto& vectors = spans.emplace_back();
      for (int i = 0; i < (1 + (b + s) % 4) * 3; ++i) vectors.push_back(next() - 32);
      add_span(index, vectors, kWidth, GetParam());
    }
    index.end_block();
  }
  for (const int count : {1, 5, 11}) {
    std::vector<float> queries;
    for (int i = 0; i < count * 3; ++i) queries.push_back(next() - 32);
    for (const SpanSimilarity rule : {SpanSimilarity::kSum, SpanSimilarity::kMax}) {
      const std::vector<float> got = scores_of(index, queries, kWidth, rule);
      for (size_t b = 0; b < blocks.size(); ++b) {
        float best = -1e30f;
        for (size_t q = 0; q < queries.size(); q += 3) {
          for (const auto& vectors : blocks[b]) {
            float total = rule == SpanSimilarity::kSum ? 0 : -1e30f;
            for (size_t v = 0; v < vectors.size(); v += 3) {
              float dot = 0;
              for (size_t t = 0; t < 3; ++t) dot += queries[q + t] * vectors[v + t];
              total = rule == SpanSimilarity::kSum ? total + dot : std::max(total, dot);
            }
            best = std::max(best, total);
          }
        }
        ASSERT_NEAR(got[b], best, rounding(4 * 3 * 32 * 32)) << "block " << b;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SpanIndexTypes, testing::Values(DType::BF16, DType::F32));

TEST(SpanIndex, IsSavedAndRestored) {
  const TempFolder folder;
  const auto write = [&](auto&& put) {
    ByteWriter out(folder.path() / "i");
    put(out);
    out.finish();
  };
  write([](ByteWriter& out) {
    Archive archive(out);
    three_blocks().archive(archive, 2);
  });
  SpanIndex index(8, 64);
  {
    ByteReader in(folder.path() / "i");
    Archive archive(in);
    index.archive(archive, 2);
  }
  EXPECT_EQ(index.blocks(), 3);
  EXPECT_EQ(index.vectors(), 6);
  EXPECT_EQ(scores_of(index, std::vector<float>{1, 2}, 2, SpanSimilarity::kSum),
            (std::vector<float>{5, -3, 4}));
}

/// Element i of block b's two vectors of 64: a common part, and up to b more.
float four_bit_element(size_t b, size_t i) {
  return (i % 64 == 7 ? 500.0f : 3.0f) + static_cast<float>((i + b) % 3) - 1 +
         (i % 64 == b % 64 ? static_cast<float>(b) : 0.0f);
}

SpanIndex four_bit_blocks() {
  SpanIndex index(8, 64);
  for (size_t b = 0; b < 90; ++b) {
    std::vector<float> vectors;
    for (size_t i = 0; i < 128; ++i) vectors.push_back(four_bit_element(b, i));
    add_span(index, vectors, 64, DType::Q4_0);
    index.end_block();
  }
  return index;
}

std::vector<float> unit_query(size_t at) {
  std::vector<float> query(64);
  query[at] = 1;
  return query;
}

TEST(SpanIndex, InFourBitsScoresAreThoseOfTheVectorsRounded) {
  SpanIndex index = four_bit_blocks();
  EXPECT_EQ(index.bytes(), 90u * 128 / 32 * 18);
  for (const size_t at : {size_t{7}, size_t{20}, size_t{63}}) {
    for (const int queries : {1, 20}) {
      std::vector<float> all;
      for (int q = 0; q < queries; ++q) {
        const std::vector<float> one = unit_query(at);
        all.insert(all.end(), one.begin(), one.end());
      }
      const std::vector<float> got = scores_of(index, all, 64, SpanSimilarity::kMax);
      const std::vector<float> sums = scores_of(index, all, 64, SpanSimilarity::kSum);
      for (size_t b = 0; b < got.size(); ++b) {
        float largest = -1e30f, sum = 0;
        for (size_t i = at; i < 128; i += 64) {
          const float x = four_bit_element(b, i);
          largest = std::max(largest, x);
          sum += x;
        }
        // A sixteenth of the range of 32 values around the common part, and a bf16 product.
        const float most = 2 + static_cast<float>(b);
        const float close = most / 14 + (at == 7 ? 2.0f : 0.1f);
        EXPECT_NEAR(got[b], largest, close) << "block " << b << ", element " << at;
        EXPECT_NEAR(sums[b], sum, 2 * close) << "block " << b << ", element " << at;
      }
    }
  }
}

TEST(SpanIndex, InFourBitsIsSavedAndRestored) {
  const TempFolder folder;
  SpanIndex index = four_bit_blocks();
  ByteWriter out(folder.path() / "i");
  Archive writing(out);
  index.archive(writing, 64);
  out.finish();
  ByteReader in(folder.path() / "i");
  Archive reading(in);
  SpanIndex restored(8, 64);
  restored.archive(reading, 64);
  EXPECT_TRUE(restored.takes(DType::Q4_0));
  EXPECT_FALSE(restored.takes(DType::BF16));
  const std::vector<float> query = unit_query(20);
  EXPECT_EQ(scores_of(restored, query, 64, SpanSimilarity::kMax),
            scores_of(index, query, 64, SpanSimilarity::kMax));
}

/// Moves one index to another through an archive.
void move_over(SpanIndex& from, SpanIndex& to, int64_t width) {
  const TempFolder folder;
  ByteWriter out(folder.path() / "i");
  Archive writing(out);
  from.archive(writing, width);
  out.finish();
  ByteReader in(folder.path() / "i");
  Archive reading(in);
  to.archive(reading, width);
}

/// Two spans of a block: two tokens and one token.
SpanTokens two_spans(Queue& queue) {
  SpanTokens tokens;
  tokens.resize(queue, 1, 2, 2);
  const std::vector<int32_t> record{2, 2, 3, 0, 1, 2, 0};
  if (queue.on_host()) {
    std::copy(record.begin(), record.end(), host(tokens.numbers()).begin());
  } else {
    queue.device().upload(record.data(), tokens.numbers().address(), record.size() * 4);
  }
  return tokens;
}

TEST(SpanIndex, IsTheSameOnADeviceAndComesBack) {
  Queue device = testing_support::fake_queue();
  constexpr int64_t kWidth = 32;
  for (const DType type : {DType::F32, DType::BF16, DType::Q4_0}) {
    SpanIndex here(2, 2), there(2, 2), moved(2, 2), back(2, 2);
    for (int b = 0; b < 130; ++b) {
      std::vector<float> keys(4 * kWidth);
      for (size_t i = 0; i < 3 * kWidth; ++i) keys[i] = static_cast<float>((i * 7 + b * 13u) % 31);
      std::vector<float> copy = keys;
      Array<float> memory;
      const View<float> keys_there = memory.resize(device, std::ssize(keys));
      device.device().upload(keys.data(), keys_there.address(), keys.size() * 4);
      if (b < 70) moved.add_blocks(host_queue(), two_spans(host_queue()), view_of(copy), type);
      here.add_blocks(host_queue(), two_spans(host_queue()), view_of(keys), type);
      there.add_blocks(device, two_spans(device), keys_there, type);
      if (b == 69) {  // a device reads a file that the host wrote
        SpanIndex loaded(2, 2);
        move_over(moved, loaded, kWidth);
        moved = std::move(loaded);
      } else if (b >= 70) {
        device.device().upload(copy.data(), keys_there.address(), copy.size() * 4);
        moved.add_blocks(device, two_spans(device), keys_there, type);
      }
    }
    std::vector<float> query(kWidth);
    for (size_t i = 0; i < query.size(); ++i) query[i] = static_cast<float>(i % 5) - 2;
    for (const SpanSimilarity rule : {SpanSimilarity::kSum, SpanSimilarity::kMax}) {
      const std::vector<float> expected = scores_of(here, query, kWidth, rule);
      VectorList queries;
      queries.resize(device, 3, kWidth);
      const int32_t one = 1;
      device.device().upload(query.data(), queries.numbers().address(), query.size() * 4);
      device.device().upload(&one, queries.counted().address(), 4);
      for (SpanIndex* index : {&there, &moved}) {
        EXPECT_EQ(index->blocks(), 130);
        Array<float> memory;
        SpanSearch search;
        std::vector<float> scores(130);
        const View<float> found = memory.resize(device, 130);
        index->scores(device, queries, rule, search, found);
        device.device().download(found.address(), scores.data(), scores.size() * 4);
        EXPECT_EQ(scores, expected) << static_cast<int>(type);
      }
    }
    move_over(moved, back, kWidth);
    EXPECT_EQ(back.bytes(), here.bytes());
    EXPECT_EQ(scores_of(back, query, kWidth, SpanSimilarity::kSum),
              scores_of(here, query, kWidth, SpanSimilarity::kSum));
  }
}

TEST(MeanOfSpans, IsOneKeyOfEachSpan) {
  for (Queue queue : {host_queue(), testing_support::fake_queue()}) {
    SpanTokens tokens;  // two blocks of at most two spans with three tokens
    tokens.resize(queue, 2, 2, 3);
    const std::vector<int32_t> records{2, 2, 3, 2, 0, 7, 0, 0, 0,  //
                                       1, 3, 3, 4, 5, 6, 0, 0, 0};
    const std::vector<float> keys{1, 2, 3, 6, 5, -1, 9, 9, 9, 9, 9, 9,  //
                                  0, 3, 3, 3, 6, 9,  9, 9, 9, 9, 9, 9};
    Array<float> memory;
    const View<float> all = memory.resize(queue, std::ssize(keys));
    {
      HostStage on(queue);
      std::ranges::copy(records, host(on(tokens.numbers())).begin());
      std::ranges::copy(keys, host(on(all)).begin());
    }
    SpanMeans means;
    mean_of_spans(queue, tokens, all, means);
    HostStage on(queue);
    const std::span<const int32_t> one_each = host(on(std::as_const(means.tokens).numbers()));
    const std::span<const float> found = host(on(std::as_const(means.keys).view()));
    EXPECT_EQ(std::vector(one_each.begin(), one_each.end()),
              (std::vector<int32_t>{2, 1, 2, 2, 7, 1, 1, 1, 4, 0}));
    EXPECT_EQ(std::vector(found.begin(), found.end()),
              (std::vector<float>{2, 4, 5, -1, 3, 5, 0, 0}));
  }
}

struct SavedIndex {
  std::vector<float> common;
  DType type = DType::F32;
  uint64_t groups = 1;
  size_t vector_bytes = 3 * 2 * sizeof(float);
  std::vector<int32_t> span_ends{1, 3}, block_ends{2};
};

SpanIndex restored(const SavedIndex& saved) {
  const TempFolder folder;
  ByteWriter out(folder.path() / "i");
  out.array(std::span<const float>(saved.common));
  out.number(saved.groups);
  out.number(static_cast<uint8_t>(saved.type));
  out.array(std::span<const uint8_t>(std::vector<uint8_t>(saved.vector_bytes)));
  out.array(std::span<const int32_t>(saved.span_ends));
  out.array(std::span<const int32_t>(saved.block_ends));
  out.finish();
  ByteReader in(folder.path() / "i");
  Archive archive(in);
  SpanIndex index(2, 2);
  index.archive(archive, 2);
  return index;
}

TEST(SpanIndex, RefusesWhatContradictsItself) {
  EXPECT_EQ(restored({}).vectors(), 3);
  const auto damaged = [](const SavedIndex& saved) {
    return error_of([&] { restored(saved); }).find("damaged") != std::string::npos;
  };
  EXPECT_TRUE(damaged({.type = DType::Q8_0}));
  EXPECT_TRUE(damaged({.common = {1}}));
  EXPECT_TRUE(damaged({.groups = 2}));  // only the last group may be incomplete
  EXPECT_TRUE(damaged({.vector_bytes = 2 * 2 * sizeof(float)}));
  EXPECT_TRUE(damaged({.vector_bytes = 25}));
  EXPECT_TRUE(damaged({.span_ends = {2, 1}}));
  EXPECT_TRUE(damaged({.block_ends = {1}}));
  EXPECT_TRUE(damaged({.span_ends = {3}, .block_ends = {1}}));        // too many vectors
  EXPECT_TRUE(damaged({.span_ends = {1, 2, 3}, .block_ends = {3}}));  // too many spans
  EXPECT_TRUE(damaged({.vector_bytes = 0, .span_ends = {}, .block_ends = {}}));
}

}  // namespace
}  // namespace longhaul
