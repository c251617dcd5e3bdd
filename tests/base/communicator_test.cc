// Communicators: exchanges between ranks, and the effect on others if a rank fails.

#include "base/communicator.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "base/error.h"
#include "base/worker_group.h"

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

class SeveralDevices : public testing::TestWithParam<int> {
 protected:
  static std::vector<std::shared_ptr<DeviceQueue>> devices() {
    std::vector<std::shared_ptr<DeviceQueue>> all;
    for (int i = 0; i < GetParam(); ++i) all.push_back(std::make_shared<PlainDevice>());
    return all;
  }
  /// Number of ranks that threw CommunicatorAborted, and of those that threw anything else.
  std::pair<int, int> thrown(const std::function<void(int)>& work) {
    std::pair<int, int> counts;
    for (const std::exception_ptr& each : workers_.run(work, [this] { communicator_.give_up(); })) {
      if (each == nullptr) continue;
      try {
        std::rethrow_exception(each);
      } catch (const CommunicatorAborted&) {
        ++counts.first;
      } catch (...) {
        ++counts.second;
      }
    }
    communicator_.begin_anew();
    return counts;
  }

  Communicator communicator_{devices()};
  WorkerGroup workers_{GetParam()};
};

using Counts = std::pair<int, int>;

TEST_P(SeveralDevices, WhoWaitsForOneThatHasEndedIsTold) {
  for (int run = 0; run < 50; ++run) {
    communicator_.begin_step();
    const Counts counts = thrown([&](int rank) {
      communicator_.any(rank, false);
      if (rank != run % GetParam()) communicator_.any(rank, false);
      communicator_.end_step();
    });
    EXPECT_EQ(counts, Counts(GetParam() - 1, 0));
  }
}

TEST_P(SeveralDevices, AddUpGatherAndSayTheSame) {
  const int size = GetParam();
  std::vector<std::vector<float>> sums(static_cast<size_t>(size));
  const auto failures = thrown([&](int rank) {
    std::vector<float>& sum = sums[static_cast<size_t>(rank)];
    for (int round = 0; round < 300; ++round) {
      std::vector<float> numbers = {0.1f * static_cast<float>(rank + 1), 1e8f, -1e8f};
      communicator_.all_reduce(rank, numbers.data(), 3);
      sum.insert(sum.end(), numbers.begin(), numbers.end());
      const int32_t own[] = {rank, round};
      std::vector<int32_t> all(static_cast<size_t>(2 * size));
      communicator_.all_gather(rank, own, 2, all.data());
      for (int each = 0; each < size; ++each) {
        ASSERT_EQ(all[static_cast<size_t>(2 * each)], each);
        ASSERT_EQ(all[static_cast<size_t>(2 * each + 1)], round);
      }
      ASSERT_EQ(communicator_.any(rank, round % 7 == rank), round % 7 < size);
    }
  });
  EXPECT_EQ(failures, Counts(0, 0));
  for (const std::vector<float>& each : sums) EXPECT_EQ(each, sums.front());
  EXPECT_NEAR(sums.front()[0], 0.1 * size * (size + 1) / 2, 1e-5);
}

/// The other ranks wait already, arrive later, or arrive after another barrier.
TEST_P(SeveralDevices, EndWhereOneFails) {
  for (int round = 0; round < 60; ++round) {
    const int failing = round % GetParam();
    const auto failures = thrown([&](int rank) {
      for (int meeting = 0; meeting < 20; ++meeting) {
        if (rank == failing && meeting == round % 19) {
          if (round % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
          user_error("no room");
        }
        if (rank != failing && round % 3 == 1) {
          std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        communicator_.any(rank, false);
      }
    });
    ASSERT_EQ(failures, Counts(GetParam() - 1, 1)) << "round " << round;
    EXPECT_EQ(thrown([&](int rank) { communicator_.any(rank, true); }), Counts(0, 0));
  }
}

/// A barrier that was reached by all completes, whatever ranks do right afterwards. Otherwise a
/// GPU in an all-reduce would wait forever for one that was called back.
TEST_P(SeveralDevices, AMeetingIsHeldForAllOrForNone) {
  for (int round = 0; round < 3000; ++round) {
    std::atomic<int> held{0};
    const auto failures = thrown([&](int rank) {
      communicator_.any(rank, false);
      ++held;
      user_error("after it");
    });
    ASSERT_EQ(failures, Counts(0, GetParam())) << "round " << round;
    ASSERT_EQ(held, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, SeveralDevices, testing::Values(2, 3, 5));

}  // namespace
}  // namespace longhaul
