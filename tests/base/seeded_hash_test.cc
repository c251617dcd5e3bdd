#include "base/seeded_hash.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <set>

namespace longhaul {
namespace {

TEST(SeededHash, IsKeyedWithNumbersOfThisProcess) {
  const std::string_view text = "added token";
  EXPECT_EQ(seeded_hash(text), seeded_hash(text));
  EXPECT_NE(seeded_hash(text), XXH3_64bits(text.data(), text.size()));
  EXPECT_NE(seeded_hash(text), std::hash<std::string_view>{}(text));
  EXPECT_NE(hash_secrets()[0], hash_secrets()[1]);
}

TEST(SeededHash, LowBitsOfNeighboursAreSpread) {
  std::set<uint64_t> low;
  for (uint64_t i = 0; i < 1024; ++i) low.insert(seeded_hash(i << 32, hash_secrets()) % 4096);
  EXPECT_GT(low.size(), 700u);  // 906 is the mean for random values
}

}  // namespace
}  // namespace longhaul
