#include "base/system_info.h"

#include <gtest/gtest.h>

namespace longhaul {
namespace {

TEST(SystemInfo, ThisProcessHasMemory) {
  EXPECT_GT(available_memory_bytes(), size_t{1} << 20);
  EXPECT_GT(peak_resident_bytes(), size_t{1} << 20);
  EXPECT_GT(anonymous_resident_bytes(), size_t{1} << 12);
  EXPECT_GE(peak_resident_bytes(), anonymous_resident_bytes());
}

}  // namespace
}  // namespace longhaul
