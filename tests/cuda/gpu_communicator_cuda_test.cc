// Sums and lists of two GPUs, with few values and many (over NCCL), and the effect of a failed
// rank. Without two GPUs nothing is tested.

#include <fmt/format.h>

#include "base/error.h"
#include "base/worker_group.h"
#include "cuda/on_device.h"
#include "ops/core/devices.h"
#include "ops/core/gpu/gpu_communicator.gpu.h"

namespace longhaul::cuda {
namespace {

class GpuCommunicators : public testing::Test {
 protected:
  void SetUp() override {
    if (find_devices().found.size() < 2) GTEST_SKIP() << "there is one GPU";
    gpus_ = {std::make_shared<GpuQueue>(0), std::make_shared<GpuQueue>(1)};
    communicator_ = std::make_unique<GpuCommunicator>(gpus_);
  }
  GpuQueue& gpu(int rank) { return *gpus_[static_cast<size_t>(rank)]; }

  /// Returns the exceptions of the ranks, which can then begin anew.
  std::vector<std::exception_ptr> run(const std::function<void(int)>& work) {
    const auto thrown = workers_.run(
        [&](int rank) {
          gpu(rank).enter();
          work(rank);
        },
        [&] { communicator_->give_up(); });
    const auto failed = [](const std::exception_ptr& each) { return each != nullptr; };
    if (std::ranges::any_of(thrown, failed)) communicator_->begin_anew();
    return thrown;
  }
  /// Checks a sum of `count` values of each rank.
  void expect_sums(size_t count) {
    SCOPED_TRACE(count);
    std::vector<std::vector<float>> of;
    for (uint32_t rank = 0; rank < 2; ++rank) of.push_back(random_floats(count, rank + 1));
    std::vector<std::vector<float>> sums(2, std::vector<float>(count));
    std::vector<std::vector<int32_t>> lists(2, std::vector<int32_t>(2 * count));
    const auto thrown = run([&](int rank) {
      const auto m = static_cast<size_t>(rank);
      const size_t bytes = count * sizeof(float);
      auto* const numbers = static_cast<float*>(gpu(rank).allocate(bytes));
      auto* const all = static_cast<int32_t*>(gpu(rank).allocate(2 * bytes));
      gpu(rank).upload(of[m].data(), numbers, bytes);
      communicator_->all_gather(rank, reinterpret_cast<const int32_t*>(numbers), std::ssize(of[m]),
                                all);
      communicator_->all_reduce(rank, numbers, std::ssize(of[m]));
      gpu(rank).download(numbers, sums[m].data(), bytes);
      gpu(rank).download(all, lists[m].data(), 2 * bytes);
      gpu(rank).release(numbers);
      gpu(rank).release(all);
    });
    for (const auto& each : thrown) EXPECT_EQ(each, nullptr);
    std::vector<float> want = of[0];
    for (size_t i = 0; i < count; ++i) want[i] += of[1][i];
    for (const auto& sum : sums) EXPECT_EQ(sum, want);
    for (const auto& list : lists) {
      EXPECT_EQ(std::memcmp(list.data(), of[0].data(), count * sizeof(float)), 0);
      EXPECT_EQ(std::memcmp(list.data() + count, of[1].data(), count * sizeof(float)), 0);
    }
  }

  std::vector<std::shared_ptr<GpuQueue>> gpus_;
  std::unique_ptr<GpuCommunicator> communicator_;
  WorkerGroup workers_{2};
};

constexpr size_t kDecode = OneShot::kMostWords;

TEST_F(GpuCommunicators, AddUpAndGatherDecodeAndMany) {
  for (const size_t count : {size_t{1}, kDecode, kDecode + 1, 5 * kDecode}) expect_sums(count);
}

TEST_F(GpuCommunicators, GoOnAfterAMemberFailed) {
  for (const int failing : {0, 1}) {
    for (const size_t count : {size_t{7}, 2 * kDecode}) {
      const auto thrown = run([&](int rank) {
        auto* const numbers = static_cast<float*>(gpu(rank).allocate(count * sizeof(float)));
        gpu(rank).clear(numbers, count * sizeof(float));
        communicator_->all_reduce(rank, numbers, static_cast<int64_t>(count));
        if (rank == failing) user_error("no room");
        for (int round = 0; round < 3; ++round) {
          communicator_->all_reduce(rank, numbers, static_cast<int64_t>(count));
        }
      });
      EXPECT_NE(thrown[0], nullptr);
      EXPECT_NE(thrown[1], nullptr);
      expect_sums(count);
    }
  }
}

}  // namespace
}  // namespace longhaul::cuda
