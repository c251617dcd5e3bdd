// Communicators: exchanges between members, and the effect on others if a member fails.

#include "base/team.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "base/crew.h"
#include "base/error.h"

namespace longhaul {
namespace {

/// A device whose memory is the host's.
class PlainDevice : public DeviceQueue {
 public:
  Place place() const override { return {0}; }
  std::string name() const override { return "a device"; }
  size_t free_bytes() const override { return 0; }
  void* allocate(size_t) override { return nullptr; }
  void* allocate_slab() override { return nullptr; }
  void release_slab(void*) noexcept override {}
  void release(void*) noexcept override {}
  void upload(const void* host, void* device, size_t bytes) override {
    std::memcpy(device, host, bytes);
  }
  void download(const void* device, void* host, size_t bytes) override {
    std::memcpy(host, device, bytes);
  }
  void copy(const void*, void*, size_t) override {}
  void clear(void*, size_t) override {}
  void wait() override {}
  int64_t waits() const override { return 0; }
  DeviceOps& ops() override { std::abort(); }
};

class Teams : public testing::TestWithParam<int> {
 protected:
  static std::vector<std::shared_ptr<DeviceQueue>> devices() {
    std::vector<std::shared_ptr<DeviceQueue>> all;
    for (int i = 0; i < GetParam(); ++i) all.push_back(std::make_shared<PlainDevice>());
    return all;
  }
  /// Number of members that threw TeamGaveUp, and of those that threw anything else.
  std::pair<int, int> thrown(const std::function<void(int)>& work) {
    std::pair<int, int> counts;
    for (const std::exception_ptr& each : crew_.run(work, [this] { team_.give_up(); })) {
      if (each == nullptr) continue;
      try {
        std::rethrow_exception(each);
      } catch (const TeamGaveUp&) {
        ++counts.first;
      } catch (...) {
        ++counts.second;
      }
    }
    team_.begin_anew();
    return counts;
  }

  Team team_{devices()};
  Crew crew_{GetParam()};
};

using Counts = std::pair<int, int>;

TEST_P(Teams, WhoWaitsForOneThatHasEndedIsTold) {
  for (int run = 0; run < 50; ++run) {
    team_.begin_step();
    const Counts counts = thrown([&](int member) {
      team_.any(member, false);
      if (member != run % GetParam()) team_.any(member, false);
      team_.end_step();
    });
    EXPECT_EQ(counts, Counts(GetParam() - 1, 0));
  }
}

TEST_P(Teams, AddUpGatherAndSayTheSame) {
  const int size = GetParam();
  std::vector<std::vector<float>> sums(static_cast<size_t>(size));
  const auto failures = thrown([&](int member) {
    std::vector<float>& sum = sums[static_cast<size_t>(member)];
    for (int round = 0; round < 300; ++round) {
      std::vector<float> numbers = {0.1f * static_cast<float>(member + 1), 1e8f, -1e8f};
      team_.add_up(member, numbers.data(), 3);
      sum.insert(sum.end(), numbers.begin(), numbers.end());
      const int32_t own[] = {member, round};
      std::vector<int32_t> all(static_cast<size_t>(2 * size));
      team_.gather(member, own, 2, all.data());
      for (int each = 0; each < size; ++each) {
        ASSERT_EQ(all[static_cast<size_t>(2 * each)], each);
        ASSERT_EQ(all[static_cast<size_t>(2 * each + 1)], round);
      }
      ASSERT_EQ(team_.any(member, round % 7 == member), round % 7 < size);
    }
  });
  EXPECT_EQ(failures, Counts(0, 0));
  for (const std::vector<float>& each : sums) EXPECT_EQ(each, sums.front());
  EXPECT_NEAR(sums.front()[0], 0.1 * size * (size + 1) / 2, 1e-5);
}

/// The other members wait already, arrive later, or arrive after another barrier.
TEST_P(Teams, EndWhereOneFails) {
  for (int round = 0; round < 60; ++round) {
    const int failing = round % GetParam();
    const auto failures = thrown([&](int member) {
      for (int meeting = 0; meeting < 20; ++meeting) {
        if (member == failing && meeting == round % 19) {
          if (round % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
          user_error("no room");
        }
        if (member != failing && round % 3 == 1) {
          std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        team_.any(member, false);
      }
    });
    ASSERT_EQ(failures, Counts(GetParam() - 1, 1)) << "round " << round;
    EXPECT_EQ(thrown([&](int member) { team_.any(member, true); }), Counts(0, 0));
  }
}

/// A barrier that was reached by all completes, whatever members do right afterwards. Otherwise a
/// GPU in an all-reduce would wait forever for one that was called back.
TEST_P(Teams, AMeetingIsHeldForAllOrForNone) {
  for (int round = 0; round < 3000; ++round) {
    std::atomic<int> held{0};
    const auto failures = thrown([&](int member) {
      team_.any(member, false);
      ++held;
      user_error("after it");
    });
    ASSERT_EQ(failures, Counts(0, GetParam())) << "round " << round;
    ASSERT_EQ(held, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Teams, testing::Values(2, 3, 5));

}  // namespace
}  // namespace longhaul
