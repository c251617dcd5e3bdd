#include "base/system_info.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/control_group.h"

namespace longhaul {
namespace {

TEST(SystemInfo, ThisProcessHasMemory) {
  EXPECT_GT(available_memory_bytes(), size_t{1} << 20);
  EXPECT_GT(peak_resident_bytes(), size_t{1} << 20);
  EXPECT_GT(anonymous_resident_bytes(), size_t{1} << 12);
  EXPECT_GE(peak_resident_bytes(), anonymous_resident_bytes());
}

/// Without limits on this process's groups, the machine's memory decides. Other processes may
/// change both meanwhile.
TEST(SystemInfo, NoMoreMemoryThanTheControlGroupsLeave) {
  constexpr size_t kUnlimited = std::numeric_limits<size_t>::max(), kSlack = size_t{64} << 20;
  const size_t before = control_group_room().value_or(kUnlimited - kSlack);
  EXPECT_LE(available_memory_bytes(), before + kSlack);
}

}  // namespace
}  // namespace longhaul
