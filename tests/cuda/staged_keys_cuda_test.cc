// Keys gathered into bf16 pages before a prompt reads them, compared with attention that reads them
// directly.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cuda/paged_heads.h"
#include "cuda/queued.h"
#include "ops/attention/attend.gpu.h"
#include "ops/attention/staged_keys.gpu.h"
#include "ops/maps/maps.gpu.h"
#include "ops/maps/staged_top_keys.gpu.h"

namespace longhaul::cuda {
namespace {

constexpr int kDim = 128, kKvHeads = 2, kHeads = 8, kRowCount = 128;
constexpr int64_t kMostKeys = 40'000;

class StagedKeysTest : public OnQueue {
 protected:
  static GpuQueue& gpu() { return static_cast<GpuQueue&>(queue().device()); }

  /// Tasks of the last rows after `keys` keys.
  std::vector<AttendTask> tasks_behind(int64_t keys) {
    segments_.resize(kKvHeads);
    std::vector<AttendTask> tasks;
    for (int h = 0; h < kKvHeads; ++h) {
      KeySegment& s = segments_[static_cast<size_t>(h)];
      s.rows = heads_.on_device(static_cast<size_t>(h));
      s.count = keys;
      tasks.push_back({h * kHeads / kKvHeads, kHeads / kKvHeads, 0, kRowCount, keys - kRowCount,
                       std::span<const KeySegment>(&s, 1)});
    }
    return tasks;
  }

  /// Compares the tasks over stored keys with the tasks over gathered keys. Calls `is_gathered` for
  /// every task. Returns the number of parts in which the tasks were attended.
  template <class IsGathered>
  int expect_gathered_as_they_lie(std::span<const AttendTask> tasks, IsGathered&& is_gathered) {
    StagedKeys staged(gpu(), DeviceQueue::kSlabBytes);
    const size_t numbers = size_t{kRowCount} * kHeads * kDim;
    const View<float> queries = there(exact_floats(numbers, 4));
    const View<const float> forms[] = {queries};
    const View<float> as_it_lies = empty_there<float>(static_cast<int64_t>(numbers));
    const View<float> gathered = empty_there<float>(static_cast<int64_t>(numbers));
    AttendCall call;
    call.queries = forms;
    call.heads = kHeads;
    call.head_dim = kDim;
    call.scale = 1 / std::sqrt(static_cast<float>(kDim));
    Scratch plain, hopper;
    hopper.pages = {gpu().slabs().base(), gpu().slabs().bytes(), bf16_page_bytes(kDim)};
    call.out = as_it_lies;
    attend(gpu().handle(), call, tasks, plain);
    call.out = gathered;
    int calls = 0;
    staged.run(call, tasks, [&](std::span<const AttendTask> some) {
      ++calls;
      for (const AttendTask& task : some) is_gathered(task);
      attend(gpu().handle(), call, some, hopper);
    });
    const std::vector<float> want = here(as_it_lies), got = here(gathered);
    for (size_t i = 0; i < numbers && !HasFailure(); ++i) {
      EXPECT_NEAR(got[i], want[i], 2e-3) << "number " << i;
    }
    return calls;
  }

  PagedHeads heads_{DType::Q8_0, kDim, kKvHeads, kMostKeys, 3};
  std::vector<KeySegment> segments_;
};

/// The bound of one slab holds 32,768 keys. One head with 20,000 keys fits alone. One head with
/// 40,000 keys exceeds the bound, which grows for it.
TEST_F(StagedKeysTest, HeadsWithMoreKeysThanTheBoundAreGatheredToo) {
  if (gpu().capability() != 90) GTEST_SKIP() << "gathers for the kernel of Hopper cards only";
  for (const int64_t keys : {int64_t{1000}, int64_t{20'000}, kMostKeys}) {
    SCOPED_TRACE(keys);
    const int calls = expect_gathered_as_they_lie(tasks_behind(keys), [](const AttendTask& task) {
      EXPECT_EQ(task.segments[0].rows.type, KvType(DType::BF16));
    });
    EXPECT_EQ(calls, keys == 1000 ? 1 : kKvHeads);
  }
}

/// Rows listed in host memory (one list for both heads, or one per head), followed by a stretch.
TEST_F(StagedKeysTest, ListsOfTheHostTravelWithWhatIsGathered) {
  if (gpu().capability() != 90) GTEST_SKIP() << "gathers for the kernel of Hopper cards only";
  std::vector<int32_t> thirds, fifths;
  for (int32_t row = 0; row < 2000; row += 3) thirds.push_back(row);
  for (int32_t row = 1; row < 2000; row += 5) fifths.push_back(row);
  for (const auto* second : {&thirds, &fifths}) {
    segments_.resize(2 * kKvHeads);
    std::vector<AttendTask> tasks;
    for (size_t h = 0; h < kKvHeads; ++h) {
      const std::vector<int32_t>& list = h == 0 ? thirds : *second;
      KeySegment& listed = segments_[2 * h] = {};
      KeySegment& near = segments_[2 * h + 1] = {};
      listed.rows = near.rows = heads_.on_device(h);
      listed.index = View<const int32_t>(list);
      listed.count = std::ssize(list);
      listed.visible = Visibility::kAll;
      near.begin = near.position = 2000;
      near.count = kRowCount;
      tasks.push_back({static_cast<int>(h) * kHeads / kKvHeads, kHeads / kKvHeads, 0, kRowCount,
                       2000, std::span(segments_).subspan(2 * h, 2)});
    }
    expect_gathered_as_they_lie(tasks, [](const AttendTask& task) {
      EXPECT_EQ(task.segments[0].rows.type, KvType(DType::BF16));
      EXPECT_TRUE(task.segments[0].index.empty());
    });
  }
}

/// Readers use unchanged page numbers in lists that are gathered whole. The bound holds one list of
/// 20,000 keys. Decode rows, and lists that can be read directly, gain nothing.
TEST_F(StagedKeysTest, GatheredListsKeepTheNumbersOfTheirPages) {
  if (gpu().capability() != 90) GTEST_SKIP() << "gathers for the kernel of Hopper cards only";
  StagedKeys staged(gpu(), DeviceQueue::kSlabBytes);
  const std::vector<PagedRows> lists = {heads_.on_device(0), heads_.on_device(1)};
  std::vector<PagedRows> copies = lists;
  EXPECT_EQ(staged.gather_lists(lists, 1000, 500, copies), 0);
  EXPECT_EQ(staged.gather_lists(lists, kMostKeys, 600, copies), 0);
  EXPECT_EQ(staged.gather_lists(lists, 20'000, 600, copies), 1);
  EXPECT_EQ(staged.gather_lists(lists, kMostKeys, 6000, copies), 1);
  EXPECT_EQ(copies[1].type, KvType(DType::Q8_0));
  ASSERT_EQ(staged.gather_lists(lists, 1000, 600, copies), 2);
  EXPECT_EQ(staged.gather_lists(std::vector(copies), 1000, 600, copies), 0);

  const size_t numbers = size_t{kRowCount} * kHeads * kDim;
  const View<float> queries = there(exact_floats(numbers, 4));
  const View<const float> forms[] = {queries};
  AttendCall call;
  call.queries = forms;
  call.heads = kHeads;
  call.head_dim = kDim;
  call.scale = 1 / std::sqrt(static_cast<float>(kDim));
  const View<int32_t> pages = there(std::vector<int32_t>{0, 3, 4, 11});
  const auto attended = [&](std::span<const PagedRows> rows, Scratch& scratch) {
    const View<float> out = empty_there<float>(static_cast<int64_t>(numbers));
    call.out = out;
    std::vector<AttendTask> tasks = tasks_behind(1000);
    std::vector<std::vector<KeySegment>> all;
    for (size_t h = 0; h < kKvHeads; ++h) {
      KeySegment listed = segments_[h], own = listed;
      listed.rows = own.rows = rows[h];
      listed.index = pages;
      listed.whole_pages = true;
      listed.count = 64 * pages.size();
      listed.visible = Visibility::kAll;
      own.begin = own.position = 872;
      own.count = kRowCount;
      all.push_back({listed, own});
      tasks[h].segments = all.back();
    }
    attend(gpu().handle(), call, tasks, scratch);
    return here(out);
  };
  Scratch plain, hopper;
  hopper.pages = {gpu().slabs().base(), gpu().slabs().bytes(), bf16_page_bytes(kDim)};
  const std::vector<float> want = attended(lists, plain), got = attended(copies, hopper);
  for (size_t i = 0; i < numbers; ++i) ASSERT_NEAR(got[i], want[i], 2e-3) << "number " << i;
}

/// The best keys of tiles from key 40 on, which is not the begin of any box of the copy engine.
TEST_F(StagedKeysTest, TheBestOfGatheredKeysAreThoseOfThemAsTheyLie) {
  if (gpu().capability() != 90) GTEST_SKIP() << "gathers for the kernel of Hopper cards only";
  constexpr int kBest = 4;
  constexpr int64_t kBegin = 40, kCount = 20'000, kNumbers = int64_t{kRowCount} * kHeads * kBest;
  StagedKeys staged(gpu(), DeviceQueue::kSlabBytes);
  TopKeysCall call;
  call.queries = there(exact_floats(size_t{kRowCount} * kHeads * kDim, 4));
  call.heads = kHeads;
  call.head_dim = kDim;
  call.k = kBest;
  call.rule = TopRule::kTile;
  call.keys = empty_there<int32_t>(kNumbers);
  call.scores = empty_there<float>(kNumbers);
  std::vector<TopKeysTask> tasks;
  for (int h = 0; h < kKvHeads; ++h) {
    tasks.push_back({h * kHeads / kKvHeads, kHeads / kKvHeads, 0, kRowCount,
                     heads_.on_device(static_cast<size_t>(h)), kBegin, kCount});
  }
  ScoreScratch scratch;
  ASSERT_TRUE(top_keys(gpu().handle(), call, tasks, {}, scratch));
  const std::vector<int32_t> keys = here(call.keys);
  const std::vector<float> scores = here(call.scores);
  ASSERT_TRUE(can_stage_top_keys(call, tasks));
  const PageRange pages{gpu().slabs().base(), gpu().slabs().bytes(), bf16_page_bytes(kDim)};
  ASSERT_TRUE(stage_top_keys(staged, call, tasks, [&](std::span<const TopKeysTask> some) {
    for (const TopKeysTask& task : some) EXPECT_EQ(task.keys.type, KvType(DType::BF16));
    return top_keys(gpu().handle(), call, some, pages, scratch);
  }));
  const std::vector<int32_t> got = here(call.keys);
  const std::vector<float> got_scores = here(call.scores);
  int64_t apart = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_NEAR(got_scores[i], scores[i], 1e-3 * std::abs(scores[i]) + 1e-4) << i;
    if (got[i] != keys[i]) ++apart;
  }
  EXPECT_LT(apart, kNumbers / 100);  // rounding may exchange two keys with similar scores
}

}  // namespace
}  // namespace longhaul::cuda
