// The speed of loading from a folder.

#include "serve/cache/load_speed.h"

#include <gtest/gtest.h>

#include "format/temp_folder.h"

namespace longhaul::serve {
namespace {

TEST(LoadSpeed, IsMeasuredAndLeavesNothing) {
  const longhaul::testing_support::TempFolder folder;
  const double speed = load_speed_of(folder.path());
  EXPECT_GT(speed, 1e5);
  EXPECT_NE(speed, 500e6);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(LoadSpeed, IsAssumedWhereNothingCanBeWritten) {
  EXPECT_EQ(load_speed_of("/proc/no such folder"), 500e6);
}

}  // namespace
}  // namespace longhaul::serve
