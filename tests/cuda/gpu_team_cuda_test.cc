// Sums and lists of two GPUs, with few values and many (over NCCL), and the effect of a failed
// member. Without two GPUs nothing is tested.

#include <fmt/format.h>

#include "base/crew.h"
#include "base/error.h"
#include "cuda/on_device.h"
#include "ops/core/devices.h"
#include "ops/core/gpu/gpu_team.gpu.h"

namespace longhaul::cuda {
namespace {

class GpuTeams : public testing::Test {
 protected:
  void SetUp() override {
    if (find_devices().found.size() < 2) GTEST_SKIP() << "there is one GPU";
    gpus_ = {std::make_shared<GpuQueue>(0), std::make_shared<GpuQueue>(1)};
    team_ = std::make_unique<GpuTeam>(gpus_);
  }
  GpuQueue& gpu(int member) { return *gpus_[static_cast<size_t>(member)]; }

  /// Returns the exceptions of the members, which can then begin anew.
  std::vector<std::exception_ptr> run(const std::function<void(int)>& work) {
    const auto thrown = crew_.run(
        [&](int member) {
          gpu(member).enter();
          work(member);
        },
        [&] { team_->give_up(); });
    const auto failed = [](const std::exception_ptr& each) { return each != nullptr; };
    if (std::ranges::any_of(thrown, failed)) team_->begin_anew();
    return thrown;
  }
  /// Checks a sum of `count` values of each member.
  void expect_sums(size_t count) {
    SCOPED_TRACE(count);
    std::vector<std::vector<float>> of;
    for (uint32_t member = 0; member < 2; ++member) of.push_back(random_floats(count, member + 1));
    std::vector<std::vector<float>> sums(2, std::vector<float>(count));
    std::vector<std::vector<int32_t>> lists(2, std::vector<int32_t>(2 * count));
    const auto thrown = run([&](int member) {
      const auto m = static_cast<size_t>(member);
      const size_t bytes = count * sizeof(float);
      auto* const numbers = static_cast<float*>(gpu(member).allocate(bytes));
      auto* const all = static_cast<int32_t*>(gpu(member).allocate(2 * bytes));
      gpu(member).upload(of[m].data(), numbers, bytes);
      team_->gather(member, reinterpret_cast<const int32_t*>(numbers), std::ssize(of[m]), all);
      team_->add_up(member, numbers, std::ssize(of[m]));
      gpu(member).download(numbers, sums[m].data(), bytes);
      gpu(member).download(all, lists[m].data(), 2 * bytes);
      gpu(member).release(numbers);
      gpu(member).release(all);
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
  std::unique_ptr<GpuTeam> team_;
  Crew crew_{2};
};

constexpr size_t kFew = OneShot::kMostWords;

TEST_F(GpuTeams, AddUpAndGatherFewAndMany) {
  for (const size_t count : {size_t{1}, kFew, kFew + 1, 5 * kFew}) expect_sums(count);
}

TEST_F(GpuTeams, GoOnAfterAMemberFailed) {
  for (const int failing : {0, 1}) {
    for (const size_t count : {size_t{7}, 2 * kFew}) {
      const auto thrown = run([&](int member) {
        auto* const numbers = static_cast<float*>(gpu(member).allocate(count * sizeof(float)));
        gpu(member).clear(numbers, count * sizeof(float));
        team_->add_up(member, numbers, static_cast<int64_t>(count));
        if (member == failing) user_error("no room");
        for (int round = 0; round < 3; ++round) {
          team_->add_up(member, numbers, static_cast<int64_t>(count));
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
