#include "kv/block_cache.h"

#include <gtest/gtest.h>

#include "kv/plain_store.h"

namespace longhaul {
namespace {

constexpr int kPage = 16, kRows = 40 * kPage;

/// One layer of two lists with rows [first, last) offloaded.
struct SpilledStore {
  SpilledStore(int64_t first, int64_t last) : store(KvLayout{{2}, 32, DType::BF16, kPage}) {
    const std::vector<float> x(kRows * 64, 1.0f);
    store.append(0, kRows, View<const float>(x), View<const float>(x));
    for (int head = 0; head < 2; ++head) store.spill(0, head, first, last);
  }
  void use(const BlockRange& range, const std::vector<int32_t>& blocks, int64_t cached) {
    cache.use_blocks(host_queue(), store, 0, range,
                     {View<const int32_t>(std::span<const int32_t>(blocks)), {}}, cached);
  }
  bool has(int64_t begin, int64_t end) const {
    const bool first = store.in_memory(0, 0, begin, end);
    EXPECT_EQ(store.in_memory(0, 1, begin, end), first);
    return first;
  }
  KvStore store;
  BlockCache cache;
};

TEST(BlockCache, ChosenBlocksAreInMemoryAndTheLongestUnusedLeave) {
  SpilledStore x(kPage, 30 * kPage);
  const BlockRange range{kPage, 30 * kPage, kPage};
  const auto has = [&](int block) { return x.has((1 + block) * kPage, (2 + block) * kPage); };
  x.use(range, {3, 5}, 3);
  EXPECT_TRUE(has(3) && has(5) && !has(4));
  x.use(range, {5, 9}, 3);
  EXPECT_TRUE(has(3) && has(5) && has(9));
  x.use(range, {3, 20}, 3);  // 5 and 9 were used earlier; 5 was used with 9, but first
  EXPECT_TRUE(has(3) && has(20) && has(9) && !has(5));
  x.use(range, {0, 1, 2, 4}, 3);  // more than the cache keeps, and all of them needed
  EXPECT_TRUE(has(0) && has(1) && has(2) && has(4) && !has(3) && !has(20));
}

TEST(BlockCache, PagesThatReachBeyondTheRangeNeverLeave) {
  // Rows [10, 10 + 5 * 24): the first and the last page also hold other rows.
  const BlockRange range{10, 130, 24};
  SpilledStore x(kPage, 8 * kPage);
  x.use(range, {0, 4}, 1);
  EXPECT_TRUE(x.has(10, 34));
  EXPECT_TRUE(x.has(106, 130));
  x.use(range, {2}, 1);
  EXPECT_TRUE(x.has(0, kPage));
  EXPECT_TRUE(x.has(8 * kPage, kRows));
  EXPECT_TRUE(x.has(58, 82));
  EXPECT_FALSE(x.has(kPage, 2 * kPage));
}

}  // namespace
}  // namespace longhaul
