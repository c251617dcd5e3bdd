// Pages of a device in slabs.

#include "kv/device_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ops/fake_device.h"

namespace longhaul {
namespace {

constexpr size_t kSlab = DeviceQueue::kSlabBytes;

TEST(DevicePages, ManySlabsAreFreedTogetherExceptForSome) {
  DevicePages pages(testing_support::fake_queue(), kSlab / 16, true);
  std::vector<std::byte*> all;
  pages.acquire_all(16 * 20, all);
  EXPECT_EQ(pages.bytes_in_use(), 20 * kSlab);
  EXPECT_EQ(std::set<std::byte*>(all.begin(), all.end()).size(), all.size());
  std::byte* const kept = all.back();
  all.pop_back();
  all.push_back(nullptr);  // as a list with an offloaded page has
  pages.share_all(all);
  pages.release_all(all);
  EXPECT_EQ(pages.pages_in_use(), 320U) << "each page has another owner";
  pages.release_all(all);
  EXPECT_EQ(pages.pages_in_use(), 1U);
  EXPECT_EQ(pages.bytes_in_use(), 9 * kSlab);
  std::vector<std::byte*> again;
  pages.acquire_all(9 * 16 - 1, again);
  EXPECT_EQ(pages.bytes_in_use(), 9 * kSlab);
  EXPECT_EQ(std::ranges::count(again, kept), 0);
  pages.release_all(again);
  pages.release(kept);
}

}  // namespace
}  // namespace longhaul
