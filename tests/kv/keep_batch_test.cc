// Evictions from several stores that a device runs as one operation.

#include "kv/keep_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "kv/store_pair.h"
#include "ops/choosing_device.h"

namespace longhaul {
namespace {

using namespace testing_support;

/// Counts the operations that move rows.
class CountingDevice : public ChoosingDevice {
 public:
  CountingDevice() {
    operations().set(kKeepRows,
                     [this](std::span<const KeptRows> rows, std::span<const KeptNumbers> numbers) {
                       ++moves;
                       return keep_rows(rows, numbers);
                     });
  }
  int moves = 0;
};

class KeepBatchOfStores : public ::testing::Test {
 protected:
  /// A store with two lists in one layer.
  Pair pair_of(const KvType& type, int64_t rows) {
    Pair pair(KvStore(KvLayout{{2}, 32, type, 16}, queue_), {});
    pair.reset();
    append(pair, rows);
    return pair;
  }
  void append(Pair& pair, int64_t rows) {
    const DType type = pair.store.layout().type.k;
    const auto count = static_cast<size_t>(rows * 2 * 32);
    const std::vector<float> k = random_row(static_cast<int>(count), random_);
    const std::vector<float> v = random_row(static_cast<int>(count), random_);
    pair.store.append(0, rows, view_of(k), view_of(v));
    for (int64_t i = 0; i < 2 * rows; ++i) {
      const float *key = k.data() + i * 32, *value = v.data() + i * 32;
      pair.at(0, static_cast<int>(i % 2))
          .append(as_stored(type, true, {key, key + 32}),
                  as_stored(type, false, {value, value + 32}));
    }
  }
  /// All rows but some, as if the device had chosen them.
  std::vector<KeptList> without(Pair& pair, std::vector<int32_t> leaving) {
    std::vector<KeptList> lists;
    for (int list = 0; list < 2; ++list) {
      std::vector<int32_t> rows;
      for (int32_t row = 0; row < pair.store.length(0, list); ++row) {
        if (std::ranges::find(leaving, row) == leaving.end()) rows.push_back(row);
      }
      Array<int32_t>& there = chosen_.emplace_back();
      const View<int32_t> view = there.resize(queue_, std::ssize(rows));
      queue_.device().upload(rows.data(), view.address(), rows.size() * sizeof(int32_t));
      lists.push_back({list, {view, {}}});
      pair.at(0, list).keep(rows);
      for (int32_t& row : leaving) row += 3;
    }
    return lists;
  }

  std::mt19937 random_{5};
  std::shared_ptr<CountingDevice> device_ = std::make_shared<CountingDevice>();
  Queue queue_{device_};
  std::deque<Array<int32_t>> chosen_;
};

TEST_F(KeepBatchOfStores, MovesTheRowsOfAllStoresWithinTheirPages) {
  Pair a = pair_of(DType::BF16, 64), b = pair_of(DType::BF16, 41);
  KeepBatch batch;
  for (int token = 0; token < 40; ++token) {
    const std::byte* const page = a.store.rows(0, 1).pages[2];
    append(a, 1);
    append(b, 1);
    const int before = device_->moves;
    ASSERT_TRUE(batch.add(a.store, 0, without(a, {7})));
    ASSERT_TRUE(batch.add(b.store, 0, without(b, {token % 37})));
    ASSERT_TRUE(batch.run(queue_));
    EXPECT_EQ(device_->moves, before + 1);
    EXPECT_EQ(a.store.rows(0, 1).pages[2], page);
    EXPECT_EQ(a.store.length(0, 0), 64);
    EXPECT_EQ(b.store.length(0, 1), 41);
    a.check(queue_);
    b.check(queue_);
  }
}

TEST_F(KeepBatchOfStores, StoresOfOtherTypesMoveApart) {
  Pair a = pair_of(DType::BF16, 40), b = pair_of(DType::F32, 40);
  KeepBatch batch;
  ASSERT_TRUE(batch.add(a.store, 0, without(a, {1, 2})));
  ASSERT_TRUE(batch.add(b.store, 0, without(b, {30})));
  ASSERT_TRUE(batch.run(queue_));
  EXPECT_EQ(device_->moves, 2);
  a.check(queue_);
  b.check(queue_);
}

TEST_F(KeepBatchOfStores, PagesOfForksStayAsTheyAre) {
  Pair a = pair_of(DType::BF16, 40);
  Pair fork(a.store.fork(), a.plain);
  EXPECT_FALSE(a.store.can_keep_in_place(0, 39));
  EXPECT_FALSE(fork.store.can_keep_in_place(0, 39));
  KeepBatch batch;
  const std::vector<KeptList> lists = without(fork, {9});
  EXPECT_FALSE(batch.add(fork.store, 0, lists));
  fork.store.keep(0, lists);  // to new pages
  EXPECT_TRUE(fork.store.can_keep_in_place(0, 38));
  a.check(queue_);
  fork.check(queue_);
  // The copy of a list whose tokens were chosen shares them until one of the two keeps less.
  Pair second(fork.store.fork(), fork.plain);
  second.store.unshare();
  ASSERT_TRUE(batch.add(second.store, 0, without(second, {4})));
  ASSERT_TRUE(batch.run(queue_));
  fork.check(queue_);
  second.check(queue_);
}

TEST_F(KeepBatchOfStores, RowsOfMoreThanAPageLeaveByNewPages) {
  Pair a = pair_of(DType::BF16, 60);
  EXPECT_TRUE(a.store.can_keep_in_place(0, 44));
  EXPECT_FALSE(a.store.can_keep_in_place(0, 43));
  EXPECT_FALSE(a.store.can_keep_in_place(0, 60));  // nothing leaves
}

}  // namespace
}  // namespace longhaul
