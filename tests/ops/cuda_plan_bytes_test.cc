// The contents of one upload to kernels: records, and the lists that they refer to.

#include <gtest/gtest.h>

#include "ops/maps/score_plan.h"

namespace longhaul::cuda {
namespace {

TEST(CudaPlanBytes, AListThatRecordsNameOneAfterTheOtherIsSentOnce) {
  const std::vector<int32_t> records{1, 2, 3}, first{4, 5, 6, 7, 8}, second{9, 10};
  PlanBytes bytes;
  for (int round = 0; round < 2; ++round) {  // reused across calls
    bytes.clear();
    EXPECT_EQ(bytes.add(records.data(), 3), 0u);
    const size_t at = bytes.add_list(first.data(), 5);
    EXPECT_EQ(at, 16u);
    EXPECT_EQ(bytes.add_list(first.data(), 5), at);
    EXPECT_EQ(bytes.add_list(first.data(), 2), 48u);  // a shorter prefix is another list
    EXPECT_EQ(bytes.add_list(second.data(), 2), 64u);
    EXPECT_EQ(bytes.bytes(), 80u);
    std::vector<std::byte> sent(bytes.bytes());
    bytes.write(sent.data());
    EXPECT_EQ(std::memcmp(sent.data(), records.data(), 12), 0);
    EXPECT_EQ(std::memcmp(sent.data() + at, first.data(), 20), 0);
    EXPECT_EQ(std::memcmp(sent.data() + 48, first.data(), 8), 0);
    EXPECT_EQ(std::memcmp(sent.data() + 64, second.data(), 8), 0);
  }
}

}  // namespace
}  // namespace longhaul::cuda
