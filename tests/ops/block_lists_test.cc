#include <gtest/gtest.h>

#include <algorithm>

#include "format/temp_folder.h"
#include "ops/attention/sliding_rows.h"
#include "ops/blocks/block_rows.h"
#include "ops/core/mean_rows.h"
#include "ops/fake_device.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::TempFolder;
using testing_support::view_of;

std::vector<int32_t> numbers(const RowList& list) {
  const auto rows = host_rows(list);
  return {rows.begin(), rows.end()};
}

TEST(BlockRows, AreTheFirstRowsAndThoseOfTheChosenBlocks) {
  const std::vector<int32_t> blocks{1, 4, 7}, count{2};
  Array<int32_t> memory;
  EXPECT_EQ(numbers(block_rows(host_queue(), 2, {view_of(blocks), {}}, 3, 10, memory)),
            (std::vector<int32_t>{0, 1, 13, 14, 15, 22, 23, 24, 31, 32, 33}));
  EXPECT_EQ(numbers(block_rows(host_queue(), 0, {view_of(blocks), view_of(count)}, 2, 0, memory)),
            (std::vector<int32_t>{2, 3, 8, 9}));
  EXPECT_TRUE(numbers(block_rows(host_queue(), 0, {}, 2, 0, memory)).empty());
}

TEST(BlockRows, ARunJoinsAList) {
  const std::vector<int32_t> list{1, 4};
  Array<int32_t> memory;
  EXPECT_EQ(numbers(with_run(host_queue(), {view_of(list), {}}, 6, 9, memory)),
            (std::vector<int32_t>{1, 4, 6, 7, 8}));
  EXPECT_EQ(numbers(with_run(host_queue(), {view_of(list), {}}, 6, 6, memory)), list);
}

TEST(BlockRows, OtherRowsJoinAList) {
  const std::vector<int32_t> list{1, 4, 9}, count{2}, more{0, 4, 6};
  Array<int32_t> memory;
  EXPECT_EQ(numbers(with_rows(host_queue(), {view_of(list), {}}, more, memory)),
            (std::vector<int32_t>{0, 1, 4, 6, 9}));
  EXPECT_EQ(numbers(with_rows(host_queue(), {view_of(list), view_of(count)}, more, memory)),
            (std::vector<int32_t>{0, 1, 4, 6}));
  EXPECT_EQ(numbers(with_rows(host_queue(), {view_of(list), {}}, {}, memory)), list);
  EXPECT_EQ(numbers(with_rows(host_queue(), {}, more, memory)), more);
}

TEST(StoredList, StaysAndIsCheckedWhenItComesFromAFile) {
  const TempFolder folder;
  const auto read_back = [&](const std::vector<int32_t>& rows) {
    StoredList list, restored;
    list.set(host_queue(), {view_of(rows), {}});
    ByteWriter out(folder.path() / "l");
    Archive writing(out);
    list.archive(writing);
    out.finish();
    ByteReader in(folder.path() / "l");
    Archive reading(in);
    restored.archive(reading);
    EXPECT_EQ(numbers(restored.list()), rows);
    return restored;
  };
  EXPECT_TRUE(read_back({0, 3, 5}).makes_sense(3, 6));
  EXPECT_TRUE(read_back({}).makes_sense(0, 0));
  EXPECT_FALSE(read_back({0, 3, 5}).makes_sense(2, 6));
  EXPECT_FALSE(read_back({0, 3, 5}).makes_sense(3, 5));
  EXPECT_FALSE(read_back({0, 3, 3}).makes_sense(3, 6));
  EXPECT_FALSE(read_back({3, 0}).makes_sense(3, 6));
  EXPECT_FALSE(read_back({-1, 0}).makes_sense(3, 6));
  StoredList list;
  list.set_first(3);
  EXPECT_EQ(numbers(list.list()), (std::vector<int32_t>{0, 1, 2}));
  list.set_first(1);
  EXPECT_EQ(numbers(list.list()), (std::vector<int32_t>{0}));
}

TEST(MeanRows, AreSumsInOrderOverTheirNumber) {
  const std::vector<float> x{1, 2, 3, 4, 8, 6};
  std::vector<float> mean(2, 77.0f);
  mean_rows(host_queue(), view_of(x), view_of(mean));
  EXPECT_EQ(mean, (std::vector<float>{4, 4}));
}

TEST(SlidingRows, JoinWithZerosAndLeaveFromTheFront) {
  SlidingRows rows(2);
  rows.append_zeros(host_queue(), 3);
  EXPECT_EQ(rows.rows(), 3);
  for (float& x : host(rows.part(0, 3))) x = static_cast<float>(&x - host(rows.part(0, 3)).data());
  rows.drop_first(2);
  rows.append_zeros(host_queue(), 1);
  const auto left = host(rows.part(0, 2));
  EXPECT_EQ(std::vector<float>(left.begin(), left.end()), (std::vector<float>{4, 5, 0, 0}));
}

TEST(SlidingRows, StayOnADeviceAndMoveThereFromAFile) {
  const TempFolder folder;
  const auto written = [&](SlidingRows& rows) {
    ByteWriter out(folder.path() / "r");
    Archive archive(out);
    rows.archive(archive);
    out.finish();
    ByteReader in(folder.path() / "r");
    return in.array<float>();
  };
  Queue queue = testing_support::fake_queue();
  const std::vector<float> x{1, 2, 3, 4, 5, 6};  // [2, 3]
  SlidingRows rows(2);
  rows.append_zeros(queue, 3);
  EXPECT_EQ(rows.part(0, 3).place(), queue.place());
  add_transposed(queue, view_of(x), 3, rows.part(0, 3));
  rows.drop_first(1);
  for (int i = 0; i < 200; ++i) rows.append_zeros(queue, 1);  // moves the array several times
  std::vector<float> expected(404);
  std::copy_n(std::vector<float>{2, 5, 3, 6}.begin(), 4, expected.begin());
  EXPECT_EQ(written(rows), expected);

  ByteReader in(folder.path() / "r");
  Archive archive(in);
  SlidingRows restored(2);
  restored.archive(archive);
  EXPECT_TRUE(restored.part(0, 1).place().host());
  restored.drop_first(1);
  restored.append_zeros(queue, 1);
  EXPECT_EQ(restored.part(0, 1).place(), queue.place());
  EXPECT_EQ(restored.rows(), 202);
  expected.erase(expected.begin(), expected.begin() + 2);
  expected.resize(404);
  EXPECT_EQ(written(restored), expected);
}

TEST(SlidingRows, ATableIsAddedTurned) {
  const std::vector<float> x{1, 2, 3, 4, 5, 6};  // [2, 3]
  std::vector<float> to{10, 20, 30, 40, 50, 60};
  add_transposed(host_queue(), view_of(x), 3, view_of(to));
  EXPECT_EQ(to, (std::vector<float>{11, 24, 32, 45, 53, 66}));
}

}  // namespace
}  // namespace longhaul
