// Keys that are gathered into bf16 pages before a prompt reads them, against attention that reads
// them as they lie.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cuda/paged_heads.h"
#include "cuda/queued.h"
#include "ops/cuda/attend.h"
#include "ops/cuda/staged_keys.h"

namespace longhaul::cuda {
namespace {

constexpr int kDim = 128, kKvHeads = 2, kHeads = 8, kRowCount = 128;
constexpr int64_t kMostKeys = 40'000;

class StagedKeysTest : public OnQueue {
 protected:
  static GpuQueue& gpu() { return static_cast<GpuQueue&>(queue().device()); }

  /// Tasks of the last rows behind `keys` keys.
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

  PagedHeads heads_{DType::Q8_0, kDim, kKvHeads, kMostKeys, 3};
  std::vector<KeySegment> segments_;
};

/// A slab of the bound holds 32,768 keys: of 20,000 one head has room beside nothing, and 40,000 of
/// one head need more than the bound, which grows for them.
TEST_F(StagedKeysTest, HeadsWithMoreKeysThanTheBoundAreGatheredToo) {
  if (gpu().capability() != 90) GTEST_SKIP() << "gathers for the kernel of Hopper cards only";
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
  for (const int64_t keys : {int64_t{1000}, int64_t{20'000}, kMostKeys}) {
    const std::vector<AttendTask> tasks = tasks_behind(keys);
    call.out = as_it_lies;
    attend(gpu().handle(), call, tasks, plain);
    call.out = gathered;
    int calls = 0;
    staged.run(call, tasks, [&](std::span<const AttendTask> some) {
      ++calls;
      for (const AttendTask& task : some) {
        EXPECT_EQ(task.segments[0].rows.type, KvType(DType::BF16)) << keys << " keys";
      }
      attend(gpu().handle(), call, some, hopper);
    });
    EXPECT_EQ(calls, keys == 1000 ? 1 : kKvHeads);
    const std::vector<float> want = here(as_it_lies), got = here(gathered);
    for (size_t i = 0; i < numbers; ++i) {
      ASSERT_NEAR(got[i], want[i], 2e-3) << keys << " keys, number " << i;
    }
  }
}

}  // namespace
}  // namespace longhaul::cuda
