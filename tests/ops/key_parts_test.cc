#include "ops/attention/key_parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace longhaul {
namespace {

/// The keys of each part of `heads` lists with `keys` keys, in the order in which threads take
/// them.
std::vector<int64_t> parts_of_heads(int64_t heads, int64_t keys) {
  const KeyParts parts(keys, keys_of_part(heads * keys));
  std::vector<int64_t> sizes;
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t p = 0; p < parts.count(); ++p)
      sizes.push_back(parts.begin(p + 1) - parts.begin(p));
  }
  return sizes;
}

TEST(KeyParts, HoldEveryKeyOnceInWholeGroups) {
  for (const int64_t heads : {1, 2, 3, 5, 8, 32}) {
    for (int64_t keys = 1; keys < 300'000; keys += 1 + keys / 7) {
      const KeyParts parts(keys, keys_of_part(heads * keys));
      ASSERT_EQ(parts.begin(0), 0);
      ASSERT_EQ(parts.begin(parts.count()), keys);
      for (int64_t p = 1; p < parts.count(); ++p) {
        ASSERT_GT(parts.begin(p), parts.begin(p - 1)) << keys;
        ASSERT_LT(parts.begin(p), keys) << keys;
        ASSERT_EQ(parts.begin(p) % 64, 0) << keys;
      }
    }
  }
}

/// Decoding waits for the slowest thread. With odd numbers of heads and of parts per head, two
/// threads once had two parts and one, or three and two.
TEST(KeyParts, TwoThreadsHaveAsMuchEach) {
  for (const int64_t heads : {1, 2, 3, 5, 7, 8, 9, 16}) {
    for (int64_t keys = 512; keys < 300'000; keys += 1 + keys / 11) {
      const std::vector<int64_t> sizes = parts_of_heads(heads, keys);
      if (sizes.size() == static_cast<size_t>(heads)) continue;  // heads are not divided
      ASSERT_EQ(sizes.size() % 2, 0u) << heads << " heads of " << keys;
      int64_t first = 0, all = 0;
      for (size_t i = 0; i < sizes.size(); ++i) {
        if (i < sizes.size() / 2) first += sizes[i];
        all += sizes[i];
      }
      EXPECT_LE(std::abs(2 * first - all), 2 * 64) << heads << " heads of " << keys;
    }
  }
}

/// Parts of one list differ by at most a group of the kernel and the rest after the last whole one.
TEST(KeyParts, AreEqual) {
  for (int64_t keys = 1; keys < 300'000; keys += 1 + keys / 13) {
    const std::vector<int64_t> sizes = parts_of_heads(3, keys);
    const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
    EXPECT_LE(*most - *least, 2 * 64) << keys;
  }
}

/// A part's overhead equals 30 keys. A thread waits for at most 75 microseconds, as long as there
/// are fewer than three parts for each of 16 threads.
TEST(KeyParts, AreNeitherSmallNorLong) {
  for (const int64_t heads : {1, 3, 8}) {
    for (int64_t keys = 64; keys < 2'000'000; keys += 1 + keys / 9) {
      const std::vector<int64_t> sizes = parts_of_heads(heads, keys);
      const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
      if (sizes.size() > static_cast<size_t>(heads)) {
        EXPECT_GE(*least, 192) << keys;
      }
      EXPECT_LE(*most, std::max<int64_t>(4096, heads * keys / 48) * 9 / 8 + 64) << keys;
    }
  }
}

}  // namespace
}  // namespace longhaul
