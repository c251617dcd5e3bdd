// Pages in pinned blocks of host memory.

#include "kv/pinned_pages.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ops/fake_side_copies.h"

namespace longhaul {
namespace {

using testing_support::CopyControl;
using testing_support::FakeSideCopies;

constexpr size_t kBlock = HostBlocks::kBlockBytes;
constexpr size_t kPinnedPage = kBlock / 8;

class PinnedPagesTest : public ::testing::Test {
 protected:
  std::shared_ptr<CopyControl> control_ = std::make_shared<CopyControl>();
  std::shared_ptr<HostBlocks> blocks_ =
      std::make_shared<HostBlocks>(std::make_shared<FakeSideCopies>(control_), 3 * kBlock);
  PinnedPages pages_{blocks_, kPinnedPage};
};

TEST_F(PinnedPagesTest, PagesThatAreAcquiredTogetherAreAdjacent) {
  std::vector<std::byte*> all;
  pages_.acquire_all(16, all);
  EXPECT_EQ(blocks_->bytes_in_use(), 2 * kBlock);
  for (size_t i = 1; i < all.size(); ++i) {
    if (i == 8) continue;  // the next block
    EXPECT_EQ(all[i], all[i - 1] + kPinnedPage) << i;
  }
  // Freed pages of a block that is mostly free are used again, in order.
  std::vector<std::byte*> freed(all.begin(), all.begin() + 6);
  pages_.release_all(freed);
  std::vector<std::byte*> again;
  pages_.acquire_all(6, again);
  EXPECT_EQ(again, freed);
  pages_.release_all(all);
  EXPECT_EQ(blocks_->bytes_in_use(), 0U);
  EXPECT_EQ(control_->blocks, 2U) << "blocks are kept for later";
}

TEST_F(PinnedPagesTest, TheLimitHolds) {
  std::vector<std::byte*> all;
  EXPECT_THROW(pages_.acquire_all(25, all), std::bad_alloc);
  EXPECT_EQ(all.size(), 24U);
  EXPECT_EQ(blocks_->room(), 0U);
  pages_.release(all[20]);
  EXPECT_EQ(pages_.acquire(), all[20]) << "also of a block that is almost full";
  pages_.release_all(all);
}

TEST_F(PinnedPagesTest, APageHasOwners) {
  std::byte* const page = pages_.acquire();
  EXPECT_FALSE(pages_.shared(page));
  pages_.share(page);
  EXPECT_TRUE(pages_.shared(page));
  pages_.release(page);
  EXPECT_EQ(pages_.pages_in_use(), 1U);
  pages_.release(page);
  EXPECT_EQ(pages_.pages_in_use(), 0U);
}

TEST_F(PinnedPagesTest, BlocksAreAllocatedInAdvance) {
  EXPECT_FALSE(blocks_->prepare()) << "nobody expects any";
  blocks_->expect(2 * kBlock);
  EXPECT_TRUE(blocks_->prepare());
  EXPECT_TRUE(blocks_->prepare());
  EXPECT_FALSE(blocks_->prepare());
  blocks_->expect(10 * kBlock);
  blocks_->add_other(kBlock);
  EXPECT_FALSE(blocks_->prepare()) << "the limit includes other memory";
  EXPECT_EQ(control_->blocks, 2U);
  blocks_->add_other(kBlock);
  EXPECT_TRUE(blocks_->prepare()) << "gives a block back";
  EXPECT_EQ(control_->blocks, 1U);
  blocks_->remove_other(2 * kBlock);
}

TEST_F(PinnedPagesTest, AFailedAllocationCountsAsTheLimit) {
  control_->most_blocks = 0;
  blocks_->expect(kBlock);
  EXPECT_FALSE(blocks_->prepare());
  EXPECT_THROW(pages_.acquire(), std::bad_alloc);
  EXPECT_EQ(blocks_->bytes_in_use(), 0U);
}

}  // namespace
}  // namespace longhaul
