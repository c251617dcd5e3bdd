#include "attention/methods/infllm/block_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "base/float_types.h"
#include "format/temp_folder.h"
#include "ops/best_by_definition.h"
#include "ops/random_floats.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::random_floats;
using testing_support::TempFolder;
using testing_support::view_of;

struct Shape {
  int64_t heads, vectors, head_dim;
  int64_t width() const { return heads * vectors * head_dim; }
};

BlockIndex index_of(const Shape& shape, const std::vector<float>& vectors, DType type) {
  BlockIndex index(shape.heads, shape.vectors, shape.head_dim);
  for (int64_t at = 0; at < std::ssize(vectors); at += shape.width()) {
    index.append(host_queue(), view_of(vectors).part(at, shape.width()), type);
  }
  return index;
}

std::vector<uint8_t> stored_of(const BlockIndex& index) {
  const auto stored = host(index.vectors().vectors);
  return {stored.begin(), stored.end()};
}

/// The definition in double precision.
double score(const Shape& shape, const float* block, const std::vector<float>& query, DType type) {
  double sum = 0;
  for (int64_t h = 0; h < shape.heads; ++h) {
    double best = -std::numeric_limits<double>::infinity();
    for (int64_t v = 0; v < shape.vectors; ++v) {
      double dot = 0;
      for (int64_t t = 0; t < shape.head_dim; ++t) {
        const float x = block[(h * shape.vectors + v) * shape.head_dim + t];
        dot += double{type == DType::F32 ? x : bf16_to_f32(f32_to_bf16(x))} *
               double{query[static_cast<size_t>(h * shape.head_dim + t)]};
      }
      best = std::max(best, dot);
    }
    sum += best;
  }
  return sum;
}

std::vector<int64_t> best_of(const Shape& shape, const std::vector<float>& vectors,
                             const std::vector<float>& query, DType type, int64_t k) {
  std::vector<double> scores;
  for (size_t at = 0; at < vectors.size(); at += static_cast<size_t>(shape.width())) {
    scores.push_back(score(shape, vectors.data() + at, query, type));
  }
  return testing_support::best_by_definition(scores, k);
}

std::vector<int64_t> top(BlockIndex& index, const std::vector<float>& query, int64_t k) {
  BlockSearch memory;
  const auto blocks = host_rows(index.top(host_queue(), view_of(query), k, memory));
  return {blocks.begin(), blocks.end()};
}

TEST(BlockIndex, BlocksAddedAtOnceAreThoseAddedOneByOne) {
  const Shape shape{3, 2, 32};
  const std::vector<float> vectors = random_floats(static_cast<size_t>(9 * shape.width()), 5);
  BlockIndex at_once(shape.heads, shape.vectors, shape.head_dim);
  at_once.append(host_queue(), view_of(vectors).part(0, 4 * shape.width()), DType::BF16);
  at_once.append(host_queue(), view_of(vectors).from(4 * shape.width()), DType::BF16);
  const BlockIndex one_by_one = index_of(shape, vectors, DType::BF16);
  EXPECT_EQ(at_once.blocks(), 9);
  EXPECT_EQ(stored_of(at_once), stored_of(one_by_one));
  EXPECT_EQ(at_once.bytes(), one_by_one.bytes());  // including the copies
}

TEST(BlockIndex, OfEqualBlocksTheLowestAreFound) {
  // Blocks of layer 0 are equal where their representatives are the same words. Without the copy,
  // and through it (above 8 k blocks).
  for (const int64_t blocks : {20, 200}) {
    for (const Shape shape : {Shape{4, 1, 64}, Shape{2, 3, 32}}) {
      const std::vector<float> kinds = random_floats(static_cast<size_t>(3 * shape.width()), 8);
      const std::vector<float> query =
          random_floats(static_cast<size_t>(shape.heads * shape.head_dim), 9);
      std::vector<float> vectors;
      for (int64_t block = 0; block < blocks; ++block) {
        const auto kind = kinds.begin() + block % 3 * shape.width();
        vectors.insert(vectors.end(), kind, kind + shape.width());
      }
      BlockIndex index = index_of(shape, vectors, DType::BF16);
      EXPECT_EQ(top(index, query, 5), best_of(shape, vectors, query, DType::BF16, 5));
    }
  }
}

TEST(BlockIndex, FindsTheBestByItsDefinition) {
  for (const Shape shape : {Shape{6, 1, 64}, Shape{3, 4, 32}, Shape{10, 3, 64}, Shape{4, 1, 24},
                            Shape{2, 5, 24}, Shape{1, 1, 7}}) {
    for (const DType type : {DType::F32, DType::BF16}) {
      const std::vector<float> vectors = random_floats(300 * shape.width(), 1);
      BlockIndex index = index_of(shape, vectors, type);
      ASSERT_EQ(index.blocks(), 300);
      for (uint32_t seed = 2; seed < 8; ++seed) {
        const std::vector<float> query = random_floats(shape.heads * shape.head_dim, seed);
        for (const int64_t k : {1, 16, 299}) {
          EXPECT_EQ(top(index, query, k), best_of(shape, vectors, query, type, k))
              << shape.heads << 'x' << shape.vectors << 'x' << shape.head_dim << " k " << k;
        }
      }
    }
  }
}

TEST(BlockIndex, TellsBlocksApartThatTheCopyCannot) {
  // A common key per head plus a variation of 1 %, which is below the copy's resolution.
  for (const Shape shape : {Shape{4, 1, 64}, Shape{3, 2, 32}}) {
    const std::vector<float> common = random_floats(shape.heads * shape.head_dim, 1);
    std::vector<float> vectors = random_floats(200 * shape.width(), 2);
    const auto dim = static_cast<size_t>(shape.head_dim);
    for (size_t i = 0; i < vectors.size(); ++i) {
      const size_t head =
          i / (dim * static_cast<size_t>(shape.vectors)) % static_cast<size_t>(shape.heads);
      vectors[i] = common[head * dim + i % dim] + 0.01f * vectors[i];
    }
    BlockIndex index = index_of(shape, vectors, DType::F32);
    for (uint32_t seed = 3; seed < 13; ++seed) {
      const std::vector<float> query = random_floats(shape.heads * shape.head_dim, seed);
      EXPECT_EQ(top(index, query, 8), best_of(shape, vectors, query, DType::F32, 8));
    }
  }
}

TEST(BlockIndex, AKeyThatOutweighsAllOthersHidesNoBlock) {
  const Shape shape{2, 1, 32};
  std::vector<float> vectors = random_floats(100 * shape.width(), 1);
  for (int64_t i = 0; i < shape.width(); ++i) vectors[static_cast<size_t>(i)] *= -1e5f;
  // Like outlier channels of keys.
  for (size_t i = 0; i < vectors.size(); i += 32) vectors[i] *= 300;
  BlockIndex index = index_of(shape, vectors, DType::F32);
  for (uint32_t seed = 3; seed < 13; ++seed) {
    const std::vector<float> query = random_floats(64, seed);
    EXPECT_EQ(top(index, query, 5), best_of(shape, vectors, query, DType::F32, 5));
  }
}

TEST(BlockIndex, OfEqualScoresTheLowerBlockAndAllOfADecode) {
  const Shape shape{1, 1, 32};
  BlockIndex index = index_of(shape, std::vector<float>(9 * 32, 1.0f), DType::BF16);
  const std::vector<float> query(32, 0.3f);
  EXPECT_EQ(top(index, query, 3), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(top(index, query, 9), (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(top(index, query, 100).size(), 9u);
  EXPECT_TRUE(top(index, query, 0).empty());
  BlockIndex empty(1, 1, 32);
  EXPECT_TRUE(top(empty, query, 4).empty());
}

TEST(BlockIndex, WhatIsNoNumberComesLast) {
  const Shape shape{1, 1, 32};
  for (const float damage :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    std::vector<float> vectors;
    for (const float score : {1, 2, 3, 4, 5, 6, 7, 8}) vectors.insert(vectors.end(), 32, score);
    vectors[5 * 32 + 3] = damage;
    vectors[7 * 32] = damage;
    BlockIndex index = index_of(shape, vectors, DType::F32);
    EXPECT_EQ(top(index, std::vector<float>(32, 1.0f), 3), (std::vector<int64_t>{3, 4, 6}));
  }
}

TEST(BlockIndex, FindsTheSameWhenRestored) {
  const Shape shape{2, 2, 32};
  const std::vector<float> vectors = random_floats(50 * shape.width(), 1);
  BlockIndex index = index_of(shape, vectors, DType::BF16);
  const TempFolder folder;
  ByteWriter out(folder.path() / "i");
  Archive writing(out);
  index.archive(writing);
  out.finish();
  ByteReader in(folder.path() / "i");
  Archive reading(in);
  BlockIndex restored(shape.heads, shape.vectors, shape.head_dim);
  restored.archive(reading);
  EXPECT_EQ(restored.blocks(), 50);
  EXPECT_FALSE(restored.takes(DType::F32));
  restored.append(host_queue(), view_of(vectors).part(0, shape.width()), DType::BF16);
  for (uint32_t seed = 3; seed < 13; ++seed) {
    const std::vector<float> query = random_floats(64, seed);
    EXPECT_EQ(top(restored, query, 4), top(index, query, 4));
  }

  ByteReader other(folder.path() / "i");
  Archive again(other);
  BlockIndex wider(3, 1, 64);
  EXPECT_NE(error_of([&] { wider.archive(again); }).find("parts of blocks"), std::string::npos);
}

TEST(BlockIndex, TellsItsBytes) {
  EXPECT_EQ(BlockIndex(2, 1, 32).bytes_for(10, DType::BF16), 10u * 64 * 2 + 10 * 2 * 18);
  EXPECT_EQ(BlockIndex(2, 1, 32).bytes_for(10, DType::F32), 10u * 64 * 4 + 10 * 2 * 18);
  EXPECT_EQ(BlockIndex(1, 3, 24).bytes_for(10, DType::BF16), 10u * 72 * 2);
}

}  // namespace
}  // namespace longhaul
