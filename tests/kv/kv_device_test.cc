// A store on a device: its moves, its clean-up after failures, and the absence of waits.

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

#include "kv/device_pages.h"
#include "kv/store_pair.h"
#include "ops/choosing_device.h"

namespace longhaul {
namespace {

using namespace testing_support;

/// Counts the pages in use.
class CountedPages : public PageMemory {
 public:
  CountedPages(Queue queue, size_t bytes) : pages_(std::move(queue), bytes, true) {}
  Place place() const override { return pages_.place(); }
  size_t page_bytes() const override { return pages_.page_bytes(); }
  std::byte* acquire() override {
    if (taken == most) throw std::bad_alloc();
    ++taken;
    return pages_.acquire();
  }
  void share(std::byte* page) override { pages_.share(page); }
  void release(std::byte* page) override {
    taken -= pages_.shared(page) ? 0 : 1;
    pages_.release(page);
  }
  bool shared(const std::byte* page) const override { return pages_.shared(page); }
  size_t pages_in_use() const override { return pages_.pages_in_use(); }

  int taken = 0, most = 1000;

 private:
  DevicePages pages_;
};

/// Two lists of 100 rows on a device, and their expected contents.
class KvDevice : public ::testing::Test {
 protected:
  KvDevice()
      : pages_(std::make_shared<CountedPages>(queue_, layout().page_bytes())),
        pair_(KvStore(layout(), pages_, queue_), {}) {
    pair_.reset();
    append(pair_, 100);
    for (int list = 0; list < 2; ++list) mark(list);
  }

  static KvLayout layout() { return {{2}, 32, DType::BF16, 16}; }

  void append(Pair& pair, int64_t rows) {
    const auto count = static_cast<size_t>(rows * 2 * 32);
    const std::vector<float> k = random_row(static_cast<int>(count), random_);
    const std::vector<float> v = random_row(static_cast<int>(count), random_);
    pair.store.append(0, rows, view_of(k), view_of(v));
    for (int64_t i = 0; i < 2 * rows; ++i) {
      const float *key = k.data() + i * 32, *value = v.data() + i * 32;
      pair.at(0, static_cast<int>(i % 2))
          .append(as_stored(DType::BF16, true, {key, key + 32}),
                  as_stored(DType::BF16, false, {value, value + 32}));
    }
  }

  void mark(int list) {
    std::vector<float> marks;
    for (auto& row : pair_.at(0, list).rows) {
      marks.push_back(row.mark = static_cast<float>(random_() % 1000));
    }
    const View<float> column = pair_.store.column(0, list, "mark");
    queue_.device().upload(marks.data(), column.address(), marks.size() * sizeof(float));
  }

  /// Keeps rows of both lists, as if the device had chosen them.
  void keep(Pair& pair, const std::vector<std::vector<int32_t>>& rows) {
    std::vector<Array<int32_t>> there(rows.size());
    std::vector<KeptList> staying;
    for (size_t l = 0; l < rows.size(); ++l) {
      const View<int32_t> view = there[l].resize(queue_, std::ssize(rows[l]));
      queue_.device().upload(rows[l].data(), view.address(), rows[l].size() * sizeof(int32_t));
      staying.push_back({static_cast<int>(l), {view, {}}});
      pair.at(0, static_cast<int>(l)).keep(rows[l]);
    }
    pair.store.keep(0, staying);
  }

  std::vector<std::vector<int32_t>> some_rows(const Pair& pair) {
    return {random_subset(pair.store.length(0, 0), 60, random_),
            random_subset(pair.store.length(0, 1), 30, random_)};
  }
  int64_t waits() const { return queue_.device().waits(); }

  std::mt19937 random_{7};
  std::shared_ptr<ChoosingDevice> device_ = std::make_shared<ChoosingDevice>();
  Queue queue_{device_};
  std::shared_ptr<CountedPages> pages_;
  Pair pair_;
};

TEST_F(KvDevice, KeepsRowsOfAllListsWithoutAWait) {
  const int64_t before = waits();
  for (int round = 0; round < 4; ++round) {
    keep(pair_, some_rows(pair_));
    append(pair_, 40);
  }
  EXPECT_EQ(waits(), before);
  EXPECT_EQ(pages_->taken, layout().pages_for(pair_.store.length(0, 0)) +
                               layout().pages_for(pair_.store.length(0, 1)));
  pair_.check(queue_);
}

TEST_F(KvDevice, AListOfWhichAllRowsStayDoesNotMove) {
  std::vector<std::vector<int32_t>> rows = some_rows(pair_);
  rows[1].resize(100);
  std::iota(rows[1].begin(), rows[1].end(), 0);
  const std::byte* const page = pair_.store.rows(0, 1).pages[0];
  keep(pair_, rows);
  EXPECT_EQ(pair_.store.rows(0, 1).pages[0], page);
  pair_.check(queue_);
}

TEST_F(KvDevice, RowsThatTheHostNamesMoveThere) {
  pair_.keep(0, 0, random_subset(100, 50, random_));
  pair_.keep(0, 1, {});
  append(pair_, 5);
  pair_.drop(0, 0, 3, 20);
  pair_.check(queue_);
}

TEST_F(KvDevice, ForksShareWhatWasChosenUntilOneKeepsLess) {
  keep(pair_, some_rows(pair_));
  const int64_t before = waits();
  Pair fork(pair_.store.fork(), pair_.plain);
  append(fork, 20);
  keep(fork, some_rows(fork));
  EXPECT_EQ(waits(), before);
  append(pair_, 3);
  pair_.check(queue_);
  fork.check(queue_);
}

TEST_F(KvDevice, PagesAreGivenBackWhereTheDeviceCannotKeepRows) {
  const std::vector<std::vector<int32_t>> rows = some_rows(pair_);
  device_->fails = [] { return false; };
  keep(pair_, rows);  // through the host
  EXPECT_EQ(pages_->taken,
            layout().pages_for(std::ssize(rows[0])) + layout().pages_for(std::ssize(rows[1])));
  pair_.check(queue_);
}

TEST_F(KvDevice, NothingIsLostWhereTheDeviceFails) {
  const int taken = pages_->taken;
  Pair plain(pair_.store.fork(), pair_.plain);
  std::vector<std::vector<int32_t>> rows = some_rows(pair_);
  device_->fails = []() -> bool { throw std::runtime_error("the device is lost"); };
  EXPECT_THROW(keep(pair_, rows), std::runtime_error);
  EXPECT_EQ(pages_->taken, taken);
  pair_.plain = plain.plain;
  device_->fails = nullptr;
  pages_->most = taken + 2;  // too few for both lists
  EXPECT_THROW(keep(pair_, rows), std::bad_alloc);
  EXPECT_EQ(pages_->taken, taken);
  pair_.plain = plain.plain;
  pages_->most = 1000;
  pair_.check(queue_);
}

}  // namespace
}  // namespace longhaul
