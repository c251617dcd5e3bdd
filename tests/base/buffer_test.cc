#include "base/buffer.h"

#include <gtest/gtest.h>

#include <utility>

namespace longhaul {
namespace {

TEST(Buffer, IsAlignedForVectors) {
  for (const size_t count : {1u, 3u, 64u, 1000u, 100000u}) {
    Buffer<float> buffer(count);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u);
    Buffer<float> moved(std::move(buffer));
    moved[count - 1] = 1;
    EXPECT_EQ(moved.size(), count);
    // NOLINTNEXTLINE(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
    EXPECT_EQ(buffer.data(), nullptr);
  }
}

TEST(Buffer, KeepsItsMemoryWhileItFits) {
  Buffer<int> buffer(1000);
  const int* const data = buffer.data();
  buffer.resize(10);
  buffer.resize(1000);
  EXPECT_EQ(buffer.data(), data);
  EXPECT_EQ(buffer.capacity_bytes(), 4000u);
}

}  // namespace
}  // namespace longhaul
