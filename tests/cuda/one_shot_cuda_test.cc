// Values that two GPUs write into each other's memory, if there are two GPUs. Two queues of one GPU
// would not do: one of them may wait for work that is queued behind it in the same channel.

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "base/array.h"
#include "cuda/on_device.h"
#include "ops/core/devices.h"
#include "ops/core/gpu/one_shot.gpu.h"

namespace longhaul::cuda {
namespace {

using Gpus = std::vector<std::shared_ptr<GpuQueue>>;

class OneShots : public testing::Test {
 protected:
  void SetUp() override {
    if (find_devices().found.size() < 2) GTEST_SKIP() << "there is one GPU";
    gpus_ = {std::make_shared<GpuQueue>(0), std::make_shared<GpuQueue>(1)};
    one_shot_ = OneShot::between(gpus_);
    if (one_shot_ == nullptr) GTEST_SKIP() << "the GPUs cannot write into each other's memory";
  }
  DeviceQueue& gpu(int rank) { return *gpus_[static_cast<size_t>(rank)]; }

  /// Memory of each rank, with the given contents.
  template <class T>
  std::vector<T*> there(const std::vector<std::vector<T>>& of) {
    std::vector<T*> all;
    for (int rank = 0; rank < 2; ++rank) {
      const std::vector<T>& numbers = of[static_cast<size_t>(rank)];
      gpu(rank).enter();
      all.push_back(static_cast<T*>(gpu(rank).allocate(numbers.size() * sizeof(T))));
      gpu(rank).upload(numbers.data(), all.back(), numbers.size() * sizeof(T));
      memory_.push_back({rank, all.back()});
    }
    return all;
  }
  template <class T>
  std::vector<T> here(int rank, const T* from, size_t count) {
    std::vector<T> numbers(count);
    gpu(rank).enter();
    gpu(rank).download(from, numbers.data(), count * sizeof(T));
    return numbers;
  }
  void TearDown() override {
    for (const auto& [rank, memory] : memory_) {
      gpu(rank).enter();
      gpu(rank).release(memory);
    }
  }

  Gpus gpus_;
  std::unique_ptr<OneShot> one_shot_;
  std::vector<std::pair<int, void*>> memory_;
};

TEST_F(OneShots, AddUpInTheOrderOfMembers) {
  uint32_t seed = 1;
  for (const size_t count : {size_t{1}, size_t{2}, size_t{511}, size_t{4096}, size_t{65536}}) {
    SCOPED_TRACE(count);
    const std::vector<std::vector<float>> of = {random_floats(count, seed++),
                                                random_floats(count, seed++)};
    const std::vector<float*> at = there(of);
    std::vector<float> want = of[0];
    for (size_t i = 0; i < count; ++i) want[i] += of[1][i];
    // The first exchange leaves the sum in both ranks, so each further exchange doubles it.
    for (int round = 0; round < 5; ++round) {
      for (int rank = 0; rank < 2; ++rank) {
        gpu(rank).enter();
        one_shot_->all_reduce(rank, at[static_cast<size_t>(rank)], static_cast<int64_t>(count));
      }
      if (round > 0) {
        for (float& x : want) x += x;
      }
    }
    for (int rank = 0; rank < 2; ++rank) {
      EXPECT_EQ(here(rank, at[static_cast<size_t>(rank)], count), want) << rank;
    }
  }
}

TEST_F(OneShots, GatherInTheOrderOfMembers) {
  const std::vector<std::vector<int32_t>> of = {{1, 2, 3, 4, 5}, {-1, -2, -3, -4, -5}};
  const std::vector<int32_t*> from = there(of);
  const std::vector<int32_t*> to =
      there<int32_t>({std::vector<int32_t>(10), std::vector<int32_t>(10)});
  for (int rank = 0; rank < 2; ++rank) {
    const auto m = static_cast<size_t>(rank);
    gpu(rank).enter();
    one_shot_->all_gather(rank, from[m], 5, to[m]);
  }
  const std::vector<int32_t> want = {1, 2, 3, 4, 5, -1, -2, -3, -4, -5};
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(here(rank, to[static_cast<size_t>(rank)], 10), want);
  }
}

/// One rank's kernel waits for data that the other never sends.
TEST_F(OneShots, GivingUpFreesWhoWaits) {
  const std::vector<float*> at = there<float>({{1}, {2}});
  gpu(0).enter();
  one_shot_->all_reduce(0, at[0], 1);
  one_shot_->all_reduce(0, at[0], 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  one_shot_->give_up();
  gpu(0).wait();
  one_shot_->begin_anew();
  gpu(0).enter();
  gpu(0).upload(here(1, at[1], 1).data(), at[0], sizeof(float));
  for (int rank = 0; rank < 2; ++rank) {
    gpu(rank).enter();
    one_shot_->all_reduce(rank, at[static_cast<size_t>(rank)], 1);
  }
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(here(rank, at[static_cast<size_t>(rank)], 1), std::vector<float>{4});
  }
}

}  // namespace
}  // namespace longhaul::cuda
