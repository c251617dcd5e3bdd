#include "kv/page_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <thread>

#include "base/system_info.h"

namespace longhaul {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

TEST(PagePool, PagesAreAlignedAndDoNotOverlap) {
  for (const size_t bytes :
       {size_t{1}, size_t{100}, size_t{4096}, size_t{8704}, size_t{16384}, size_t{1000000}, kMiB}) {
    PagePool pool(bytes);
    std::vector<std::byte*> pages;
    for (int i = 0; i < 300; ++i) {
      pages.push_back(pool.acquire());
      EXPECT_EQ(reinterpret_cast<uintptr_t>(pages.back()) % 64, 0u);
      std::memset(pages.back(), i % 251, bytes);
    }
    EXPECT_EQ(pool.pages_in_use(), 300u);
    EXPECT_EQ(pool.bytes_in_use(), 300 * bytes);
    for (int i = 0; i < 300; ++i) {
      const std::byte* page = pages[static_cast<size_t>(i)];
      const auto is = [&](std::byte b) { return b == static_cast<std::byte>(i % 251); };
      EXPECT_TRUE(std::all_of(page, page + bytes, is)) << bytes << " page " << i;
    }
    for (std::byte* page : pages) pool.release(page);
    EXPECT_EQ(pool.pages_in_use(), 0u);
  }
}

TEST(PagePool, APageLivesUntilItsLastOwnerLeaves) {
  PagePool pool(4096);
  std::byte* page = pool.acquire();
  EXPECT_FALSE(pool.shared(page));
  pool.share(page);
  EXPECT_TRUE(pool.shared(page));
  pool.release(page);
  EXPECT_FALSE(pool.shared(page));
  EXPECT_EQ(pool.pages_in_use(), 1u);
  pool.release(page);
  EXPECT_EQ(pool.pages_in_use(), 0u);
}

TEST(PagePool, RandomUseNeverDamagesAPageInUse) {
  std::mt19937 random(3);
  for (const size_t bytes : {size_t{8704}, size_t{16384}, size_t{600}}) {
    PagePool pool(bytes);
    std::vector<std::pair<std::byte*, int>> pages;
    for (int step = 0; step < 20000; ++step) {
      // Runs in waves, so that whole slabs become empty and full.
      const bool grow = pages.empty() || random() % 100 < (step / 2000 % 2 == 0 ? 70u : 30u);
      if (grow) {
        pages.emplace_back(pool.acquire(), step % 256);
        std::memset(pages.back().first, step % 256, bytes);
      } else {
        std::swap(pages[random() % pages.size()], pages.back());
        const auto [page, mark] = pages.back();
        const auto is = [mark](std::byte b) { return b == static_cast<std::byte>(mark); };
        ASSERT_TRUE(std::all_of(page, page + bytes, is)) << "step " << step;
        pool.release(page);
        pages.pop_back();
      }
      ASSERT_EQ(pool.pages_in_use(), pages.size());
    }
    for (const auto& [page, mark] : pages) pool.release(page);
  }
}

/// Fills 64 MiB, releases the pages that `leaves` selects, and measures the process.
template <class Leaves>
void check_memory_returns(size_t bytes, Leaves&& leaves, double share) {
  PagePool pool(bytes);
  const size_t count = 64 * kMiB / bytes;
  std::vector<std::byte*> pages(count), kept;
  const size_t before = anonymous_resident_bytes();
  for (std::byte*& page : pages) std::memset(page = pool.acquire(), 1, bytes);
  const size_t full = anonymous_resident_bytes();
  EXPECT_GT(full, before + 60 * kMiB);
  for (size_t i = 0; i < count; ++i) {
    if (leaves(i)) {
      pool.release(pages[i]);
    } else {
      kept.push_back(pages[i]);
    }
  }
  const size_t after = anonymous_resident_bytes();
  const double returned = static_cast<double>(full) - static_cast<double>(after);
  EXPECT_GT(returned, share * 64 * kMiB - 3.0 * kMiB) << "page of " << bytes;
  for (std::byte* page : kept) pool.release(page);
}

TEST(PagePool, ReleasedMemoryGoesBackToTheSystem) {
  for (const size_t bytes : {size_t{8704}, size_t{16384}, size_t{32768}}) {
    check_memory_returns(
        bytes, [](size_t) { return true; }, 1.0);
    check_memory_returns(
        bytes, [](size_t i) { return i % 16 != 0; }, 15.0 / 16 * 0.97);
  }
  check_memory_returns(
      16384, [](size_t i) { return i % 2 == 0; }, 0.5);
}

TEST(PagePool, ThreadsMayShareIt) {
  PagePool pool(4096);
  std::byte* common = pool.acquire();
  std::memset(common, 42, 4096);
  const auto work = [&](int mark) {
    for (int round = 0; round < 200; ++round) {
      pool.share(common);
      std::vector<std::byte*> mine;
      for (int i = 0; i < 40; ++i) std::memset(mine.emplace_back(pool.acquire()), mark, 4096);
      for (std::byte* page : mine) {
        EXPECT_EQ(page[4095], static_cast<std::byte>(mark));
        pool.release(page);
      }
      EXPECT_TRUE(pool.shared(common));
      pool.release(common);
    }
  };
  std::thread first(work, 1), second(work, 2);
  first.join();
  second.join();
  EXPECT_FALSE(pool.shared(common));
  EXPECT_EQ(pool.pages_in_use(), 1u);
  pool.release(common);
}

}  // namespace
}  // namespace longhaul
