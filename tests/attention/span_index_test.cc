#include "attention/span_index.h"

#include <gtest/gtest.h>

#include "base/byte_stream.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;

/// Three blocks: spans {(1,0), (0,2)} and {(3,1)}; {(-1,-1)}; {(0,1), (0,1)}.
SpanIndex three_blocks() {
  SpanIndex index;
  index.add_span(std::vector<float>{1, 0, 0, 2}, 2);
  index.add_span(std::vector<float>{3, 1}, 2);
  index.end_block();
  index.add_span(std::vector<float>{-1, -1}, 2);
  index.end_block();
  index.add_span(std::vector<float>{0, 1, 0, 1}, 2);
  index.end_block();
  return index;
}

TEST(SpanIndex, SumsPairsOfASpanAndTakesTheBestSpan) {
  const SpanIndex index = three_blocks();
  const std::vector<float> query{1, 2};
  EXPECT_EQ(index.scores(query, 2, SpanSimilarity::kSum), (std::vector<float>{5, -3, 4}));
  EXPECT_EQ(index.scores(query, 2, SpanSimilarity::kMax), (std::vector<float>{5, -3, 2}));
}

TEST(SpanIndex, TheBestOfSeveralQueriesCounts) {
  const SpanIndex index = three_blocks();
  std::vector<float> queries;
  for (int i = 0; i < 19; ++i) queries.insert(queries.end(), {0, 0});
  queries.insert(queries.end(), {-5, 0});
  EXPECT_EQ(index.scores(queries, 2, SpanSimilarity::kSum), (std::vector<float>{0, 5, 0}));
}

TEST(SpanIndex, WithOneVectorEachAScoreIsTheLargestProduct) {
  SpanIndex index;
  for (const float x : {2.0f, -7.0f}) index.add_span(std::vector<float>{x}, 1);
  index.end_block();
  const std::vector<float> query{-1};
  EXPECT_EQ(index.scores(query, 1, SpanSimilarity::kSum), (std::vector<float>{7}));
  EXPECT_EQ(index.scores(query, 1, SpanSimilarity::kMax), (std::vector<float>{7}));
}

TEST(SpanIndex, IsSavedAndRestored) {
  const TempFolder folder;
  const auto write = [&](auto&& put) {
    ByteWriter out(folder.path() / "i");
    put(out);
    out.finish();
  };
  write([](ByteWriter& out) { three_blocks().save(out); });
  SpanIndex index;
  {
    ByteReader in(folder.path() / "i");
    index.restore(in, 2);
  }
  EXPECT_EQ(index.blocks(), 3);
  EXPECT_EQ(index.vectors(), 6);
  EXPECT_EQ(index.scores(std::vector<float>{1, 2}, 2, SpanSimilarity::kSum),
            (std::vector<float>{5, -3, 4}));
  write([](ByteWriter& out) {
    out.array(std::span<const float>(std::vector<float>(4)));
    out.array(std::span<const int32_t>(std::vector<int32_t>{1, 3}));
    out.array(std::span<const int32_t>(std::vector<int32_t>{2}));
  });
  ByteReader in(folder.path() / "i");
  EXPECT_NE(error_of([&] { index.restore(in, 2); }).find("damaged"), std::string::npos);
}

}  // namespace
}  // namespace longhaul
