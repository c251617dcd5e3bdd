#include "base/system_info.h"

#include <gtest/gtest.h>

namespace longhaul {
namespace {

constexpr const char* kStat =
    "anon 1048576\n"
    "file 9000000\n"
    "inactive_anon 4096\n"
    "active_file 1000000\n"
    "inactive_file 8000000\n"
    "slab 5\n";

TEST(SystemInfo, PageCacheThatCanBeDroppedIsNotHeld) {
  EXPECT_EQ(held_by_control_group(10'000'000, kStat), 2'000'000u);
  EXPECT_EQ(held_by_control_group(8'000'000, kStat), 0u);
  EXPECT_EQ(held_by_control_group(7'000'000, kStat), 0u) << "the two files are read one by one";
}

TEST(SystemInfo, WithoutTheFigureAllIsHeld) {
  for (const char* stat : {"", "anon 12\nactive_file 7\n", "inactive_file\n", "inactive_file x\n",
                           "inactive_files 4096\n"}) {
    EXPECT_EQ(held_by_control_group(5000, stat), 5000u) << stat;
  }
}

TEST(SystemInfo, ThisProcessHasMemory) {
  EXPECT_GT(available_memory_bytes(), size_t{1} << 20);
  EXPECT_GT(peak_resident_bytes(), size_t{1} << 20);
  EXPECT_GT(anonymous_resident_bytes(), size_t{1} << 12);
  EXPECT_GE(peak_resident_bytes(), anonymous_resident_bytes());
}

}  // namespace
}  // namespace longhaul
