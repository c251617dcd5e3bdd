#include "base/cpu_limit.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/error_of.h"

namespace longhaul {
namespace {

using testing_support::error_of;

void work_without_end() {
  volatile bool forever = true;
  while (forever) {
  }
}

TEST(CpuLimit, WorkThatLooksIsStoppedWithTheLine) {
  EXPECT_EQ(error_of([] {
              const CpuLimit limit(0.02, "t.json: too slow");
              for (;;) CpuLimit::check();
            }),
            "t.json: too slow");
  CpuLimit::check();  // the limit no longer applies
}

TEST(CpuLimit, WorkThatNeverLooksEndsTheProgramWithTheLine) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        const CpuLimit limit(0.02, "t.json: too slow", 0.02);
        work_without_end();
      },
      testing::ExitedWithCode(2), "^error: t.json: too slow\n$");
}

TEST(CpuLimit, WaitingIsNotWorking) {
  const CpuLimit limit(0.05, "t.json: too slow", 0.05);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_NO_THROW(CpuLimit::check());
}

TEST(CpuLimit, EachThreadHasItsOwn) {
  const CpuLimit limit(0.02, "outer");
  std::thread([] {
    for (int i = 0; i < 1000; ++i) CpuLimit::check();
    const CpuLimit inner(0.02, "inner");
    EXPECT_EQ(error_of([] {
                for (;;) CpuLimit::check();
              }),
              "inner");
  }).join();
}

}  // namespace
}  // namespace longhaul
