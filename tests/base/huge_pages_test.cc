#include "base/huge_pages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace longhaul {
namespace {

TEST(HugePages, AreAlignedZeros) {
  for (const bool huge : {false, true}) {
    std::byte* pages = map_pages(2 * kHugePageBytes, huge);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(pages) % kHugePageBytes, 0u);
    EXPECT_EQ(pages[0], std::byte{0});
    EXPECT_EQ(pages[2 * kHugePageBytes - 1], std::byte{0});
    pages[2 * kHugePageBytes - 1] = std::byte{1};
    unmap_pages(pages, 2 * kHugePageBytes);
  }
}

TEST(HugePages, AVectorGrowsIntoThem) {
  std::vector<int32_t, HugePageAllocator<int32_t>> numbers;
  const int32_t count = static_cast<int32_t>(3 * kHugePageBytes / sizeof(int32_t));
  for (int32_t i = 0; i < count; ++i) numbers.push_back(i);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(numbers.data()) % kHugePageBytes, 0u);
  for (int32_t i = 0; i < count; ++i) ASSERT_EQ(numbers[static_cast<size_t>(i)], i);
  auto copy = numbers;
  numbers = {};
  EXPECT_EQ(copy.back(), count - 1);
  copy.resize(10);
  copy.shrink_to_fit();
  EXPECT_EQ(copy, (decltype(copy){0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

}  // namespace
}  // namespace longhaul
