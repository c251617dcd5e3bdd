// Evictions of several stores that run together on a device.

#include "attention/eviction_batch.h"

#include <gtest/gtest.h>

#include <array>

#include "kv/store_pair.h"
#include "ops/choosing_device.h"

namespace longhaul {
namespace {

constexpr int kGatheredHeads = 2, kGatheredDim = 32, kGatheredRows = 20;

class EvictionBatchOfStores : public ::testing::Test {
 protected:
  EvictionBatchOfStores() {
    const auto numbers = static_cast<size_t>(kGatheredRows * kGatheredHeads * kGatheredDim);
    const std::vector<float> rows = testing_support::random_row(static_cast<int>(numbers), random_);
    for (KvStore* store : {&first_, &second_}) {
      store->append(0, kGatheredRows, testing_support::view_of(rows),
                    testing_support::view_of(rows));
    }
    queries_.resize(queue_, 2 * kGatheredHeads * kGatheredDim);
    lse_.resize(queue_, 2 * kGatheredHeads);
    fill(queue_, queries_.view(), 0.5f);
    fill(queue_, lse_.view(), 1.0f);
  }
  /// The eviction of two rows, by the attention of row `row` of the batch.
  DueLists due(KvStore& store, int row) {
    View<const float>& queries = queries_of_rows_[static_cast<size_t>(row)];
    queries =
        queries_.view().part(row * kGatheredHeads * kGatheredDim, kGatheredHeads * kGatheredDim);
    DueLists lists;
    lists.store = &store;
    lists.call.queue = &queue_;
    lists.call.heads = kGatheredHeads;
    lists.call.head_dim = kGatheredDim;
    lists.call.scale = 1;
    lists.call.queries = {&queries, 1};
    lists.call.lse_in = lse_.view().part(row * kGatheredHeads, kGatheredHeads);
    lists.keep = {.first = 0, .last = 0, .count = kGatheredRows - 2};
    return lists;
  }

  std::mt19937 random_{3};
  Queue queue_{std::make_shared<testing_support::ChoosingDevice>()};
  KvStore first_{KvLayout{{2}, kGatheredDim, {DType::F32, DType::F32}, 16}, queue_};
  KvStore second_{KvLayout{{2}, kGatheredDim, {DType::F32, DType::F32}, 16}, queue_};
  Array<float> queries_, lse_;
  std::array<View<const float>, 2> queries_of_rows_;
};

/// A sequence that fails after its eviction was added is reset. Its store must not change then.
TEST_F(EvictionBatchOfStores, LeaveOutThoseThatWereRemoved) {
  EvictionBatch batch;
  ASSERT_TRUE(batch.add(due(first_, 0)));
  ASSERT_TRUE(batch.add(due(second_, 1)));
  EXPECT_EQ(batch.size(), 2u);
  batch.shrink(1);
  batch.run(queue_);
  EXPECT_EQ(batch.size(), 0u);
  for (int list = 0; list < 2; ++list) {
    EXPECT_EQ(first_.length(0, list), kGatheredRows - 2);
    EXPECT_EQ(second_.length(0, list), kGatheredRows);
  }
}

}  // namespace
}  // namespace longhaul
