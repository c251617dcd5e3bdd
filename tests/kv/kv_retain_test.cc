#include <gtest/gtest.h>

#include "kv/store_pair.h"

namespace longhaul {
namespace {

using namespace testing_support;

TEST(KvRetain, DropEqualsKeepingTheRest) {
  for (const int64_t begin : {0, 4, 16, 63, 64, 100, 160}) {
    for (const int64_t rows : {0, 1, 16, 17, 48, 96, 160}) {
      const int64_t end = std::min<int64_t>(160, begin + rows);
      std::mt19937 random(5);
      Pair dropped(KvLayout{{1}, 64, DType::BF16, 16});
      dropped.append_layer(0, 160, random);
      if (begin % 16 == 4) dropped.keep(0, 0, random_subset(160, 100, random));
      dropped.mark(0, 0, random);
      Pair kept(dropped.store.fork(), dropped.plain);
      dropped.drop(0, 0, begin, end);
      std::vector<int32_t> rest;
      for (int32_t row = 0; row < 160; ++row) {
        if (row < begin || row >= end) rest.push_back(row);
      }
      kept.keep(0, 0, rest);
      for (Pair* pair : {&dropped, &kept}) {
        pair->append_layer(0, 5, random);
        pair->check();
      }
      EXPECT_EQ(dropped.store.appended(0, 0), kept.store.appended(0, 0));
      EXPECT_EQ(dropped.store.bytes(), kept.store.bytes()) << begin << " to " << end;
      if (HasFatalFailure()) FAIL() << begin << " to " << end;
    }
  }
}

TEST(KvRetain, DroppingWholePagesMovesPagesNotRows) {
  std::mt19937 random(5);
  Pair pair(KvLayout{{1}, 64, DType::BF16, 16});
  pair.append_layer(0, 153, random);  // the last page is partly filled
  const std::byte* const* pages = pair.store.rows(0, 0).pages;
  const std::vector<const std::byte*> before(pages, pages + 10);
  pair.drop(0, 0, 4, 52);
  const std::byte* const* after = pair.store.rows(0, 0).pages;
  EXPECT_EQ(after[0], before[0]);
  for (size_t i = 1; i < 7; ++i) EXPECT_EQ(after[i], before[i + 3]) << i;
  pair.check();
}

TEST(KvRetain, KeepsWhatAnOperationChose) {
  std::mt19937 random(5);
  Pair pair(KvLayout{{1}, 64, DType::BF16, 16});
  pair.append_layer(0, 100, random);
  const std::vector<int32_t> rows = {3, 40, 41, 99, -7, -7}, count = {4};
  const KeptList some{0, {view_of(rows), view_of(count)}};
  pair.store.keep(0, {&some, 1});
  pair.at(0, 0).keep(std::span(rows).first(4));
  pair.check();
  const KeptList none{0, {view_of(rows).part(0, 0), {}}};
  pair.store.keep(0, {&none, 1});
  EXPECT_EQ(pair.store.length(0, 0), 0);
}

TEST(KvRetain, TokensAreListedOnceTheyDifferFromTheRows) {
  std::mt19937 random(5);
  Pair pair(KvLayout{{1}, 32, DType::F32, 16});
  pair.append_layer(0, 10, random);
  EXPECT_TRUE(pair.store.tokens(0, 0).listed.empty());
  pair.drop(0, 0, 2, 5);
  const std::span<const int32_t> tokens = host(pair.store.tokens(0, 0).listed);
  EXPECT_EQ((std::vector<int32_t>(tokens.begin(), tokens.end())),
            (std::vector<int32_t>{0, 1, 5, 6, 7, 8, 9}));
  EXPECT_EQ(pair.store.tokens(0, 0).listed.address(), tokens.data());
}

}  // namespace
}  // namespace longhaul
