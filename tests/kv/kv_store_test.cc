#include "kv/kv_store.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/parallel.h"
#include "base/system_info.h"
#include "kv/store_pair.h"

namespace longhaul {
namespace {

using namespace testing_support;

/// Sinks and the most recent rows, which streaming methods keep.
std::vector<int32_t> sinks_and_recent(int64_t length, int64_t dropped) {
  std::vector<int32_t> rows;
  for (int64_t i = 0; i < length; ++i) {
    if (i < 4 || i >= 4 + dropped) rows.push_back(static_cast<int32_t>(i));
  }
  return rows;
}

class RandomOperations : public testing::TestWithParam<KvType> {};

TEST_P(RandomOperations, EqualPlainVectors) {
  const KvLayout layout{{2, 1, 3}, 32, GetParam(), 8};
  std::mt19937 random(11);
  for (int round = 0; round < 6; ++round) {
    std::vector<Pair> streams;
    streams.emplace_back(layout);
    for (int step = 0; step < 250; ++step) {
      Pair& s = streams[random() % streams.size()];
      const int layer = static_cast<int>(random() % 3);
      const int head = static_cast<int>(random() % static_cast<unsigned>(s.heads(layer)));
      const int64_t length = s.store.length(layer, head);
      switch (random() % 13) {
        case 0:
        case 1:
        case 2:
        case 3:
          s.append_layer(layer, static_cast<int64_t>(random() % 20), random);
          break;
        case 4:
          s.append_head(layer, head, static_cast<int64_t>(random() % 20), 32 + 5, random);
          break;
        case 5:
          s.keep(layer, head, random_subset(length, 80, random));
          break;
        case 6:
          s.keep(layer, head, random_subset(length, random() % 101, random));
          break;
        case 7:
          s.keep(layer, head, sinks_and_recent(length, 8 * (random() % 3)));
          break;
        case 12: {
          const int64_t begin = static_cast<int64_t>(random()) % (length + 1);
          const int64_t pages = static_cast<int64_t>(random() % 3) * 8;
          const int64_t rows = random() % 2 == 0 ? pages : static_cast<int64_t>(random() % 20);
          s.drop(layer, head, begin, std::min(length, begin + rows));
          break;
        }
        case 8: {
          const int64_t to = length == 0 ? 0 : static_cast<int64_t>(random()) % (length + 1);
          s.store.truncate(layer, head, to);
          s.at(layer, head).truncate(to);
          break;
        }
        case 9:
          s.mark(layer, head, random);
          break;
        case 10:
          if (streams.size() < 4) streams.emplace_back(s.store.fork(), s.plain);
          break;
        default:
          if (streams.size() > 1 && random() % 2 == 0) {
            streams.erase(streams.begin() + static_cast<std::ptrdiff_t>(random() % streams.size()));
          } else if (random() % 4 == 0) {
            s.store.clear();
            s.reset();
          }
      }
      for (const Pair& each : streams) EXPECT_EQ(each.store.bytes(), each.store.count_bytes());
      if (step % 10 == 0) {
        for (Pair& stream : streams) stream.check();
        if (HasFatalFailure()) FAIL() << "round " << round << " step " << step;
      }
    }
    for (Pair& stream : streams) stream.check();
  }
}

INSTANTIATE_TEST_SUITE_P(Types, RandomOperations, testing::ValuesIn(kKvTypes),
                         [](const auto& type) {
                           std::string name = name_of(type.param);
                           std::erase_if(name, [](char c) { return c == '=' || c == ','; });
                           return name;
                         });

TEST(KvStore, LargeAppendsRunInParallelToTheSameRows) {
  for (const KvType type : kKvTypes) {
    std::mt19937 random(5);
    Pair pair(KvLayout{{3}, 64, type});
    for (const int threads : {1, 2}) {
      set_thread_count(threads);
      pair.append_layer(0, 1000, random);
    }
    pair.check();
  }
}

TEST(KvStore, PagesAreAsAttentionReadsThem) {
  std::mt19937 random(5);
  Pair pair(KvLayout{{2}, 64, DType::F32, 16});
  pair.append_layer(0, 40, random);
  const PagedRows rows = pair.store.rows(0, 1);
  EXPECT_EQ(rows.page_rows, 16);
  EXPECT_EQ(rows.head_dim, 64);
  EXPECT_EQ(rows.type, DType::F32);
  for (size_t i = 0; i < 40; ++i) {
    const std::byte* key = rows.pages[i / 16] + i % 16 * 256;
    const std::byte* value = key + 16 * 256;
    EXPECT_EQ(std::memcmp(key, pair.at(0, 1).rows[i].k.data(), 256), 0);
    EXPECT_EQ(std::memcmp(value, pair.at(0, 1).rows[i].v.data(), 256), 0);
  }
}

TEST(KvStore, BytesFollowTheRowsThatLive) {
  for (const KvType type : kKvTypes) {
    const KvLayout layout{{3, 3}, 64, type};
    KvStore store(layout);
    EXPECT_EQ(store.bytes(), 0u);
    std::mt19937 random(5);
    const std::vector<float> x = random_row(3 * 64 * 100, random);
    for (int64_t tokens = 100; tokens <= 3000; tokens += 100) {
      store.append(0, 100, view_of(x), view_of(x));
      store.append(1, 100, view_of(x), view_of(x));
      EXPECT_EQ(store.live_rows(), 6 * tokens);
      EXPECT_EQ(store.live_bytes(), static_cast<size_t>(6 * tokens) * layout.row_bytes());
      EXPECT_EQ(store.bytes(), layout.bytes_for(tokens));
      if (tokens >= 1300) {
        EXPECT_LE(static_cast<double>(store.bytes()),
                  1.05 * static_cast<double>(store.live_bytes()));
      }
    }
    EXPECT_EQ(store.longest(), 3000);
    // The waste is largest when one row exceeds full pages.
    for (int64_t tokens = 1281; tokens <= 3000; ++tokens) {
      const double exact =
          static_cast<double>(6 * tokens) * static_cast<double>(layout.row_bytes());
      EXPECT_LE(static_cast<double>(layout.bytes_for(tokens)), 1.05 * exact) << tokens;
    }
    store.truncate(64);
    EXPECT_EQ(store.bytes(), layout.bytes_for(64));
    store.clear();
    EXPECT_EQ(store.bytes(), 0u);
  }
}

TEST(KvStore, ForgottenRowsLeaveTheProcess) {
  KvStore store(KvLayout{{4}, 64, DType::BF16});
  const std::vector<float> x(4 * 64 * 1024, 1.0f);
  const size_t before = anonymous_resident_bytes();
  for (int i = 0; i < 64; ++i) store.append(0, 1024, view_of(x), view_of(x));  // 64 MiB
  const size_t full = anonymous_resident_bytes();
  EXPECT_GT(full, before + (60u << 20));
  const std::vector<int32_t> kept = sinks_and_recent(65536, 65536 - 516);
  for (int h = 0; h < 4; ++h) store.keep(0, h, kept);
  EXPECT_LT(anonymous_resident_bytes() + (60u << 20), full);
  EXPECT_LT(store.bytes(), 1u << 20);
}

TEST(KvStore, AForkSharesPagesUntilOneSideWrites) {
  const KvLayout layout{{1}, 64, DType::F32, 16};
  std::mt19937 random(5);
  Pair first(layout);
  first.append_layer(0, 40, random);
  Pair second(first.store.fork(), first.plain);
  const auto page = [](Pair& p, size_t i) { return p.store.rows(0, 0).pages[i]; };
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(page(first, i), page(second, i));

  second.append_layer(0, 1, random);
  EXPECT_EQ(page(first, 1), page(second, 1));
  EXPECT_NE(page(first, 2), page(second, 2));
  first.keep(0, 0, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 20});
  EXPECT_EQ(page(first, 0), page(second, 0));
  EXPECT_NE(page(first, 1), page(second, 1));
  first.check();
  second.check();
  first.store.clear();
  first.reset();
  second.check();
}

TEST(KvStore, DroppingWholePagesInTheMiddleMovesPagesNotRows) {
  std::mt19937 random(5);
  Pair pair(KvLayout{{1}, 64, DType::BF16, 16});
  pair.append_layer(0, 160, random);
  const std::vector<const std::byte*> before(pair.store.rows(0, 0).pages,
                                             pair.store.rows(0, 0).pages + 10);
  pair.keep(0, 0, sinks_and_recent(160, 48));
  const std::byte* const* after = pair.store.rows(0, 0).pages;
  EXPECT_EQ(after[0], before[0]);
  for (size_t i = 1; i < 7; ++i) EXPECT_EQ(after[i], before[i + 3]) << i;
  pair.check();
}

TEST(KvStore, TokensAreNumberedOnAfterEvictionAndAgainAfterTruncation) {
  std::mt19937 random(5);
  Pair pair(KvLayout{{1}, 32, DType::F32, 16});
  pair.append_layer(0, 10, random);
  pair.keep(0, 0, {0, 1, 2});
  pair.append_layer(0, 2, random);
  EXPECT_EQ(pair.store.token_of(0, 0, 2), 2);
  EXPECT_EQ(pair.store.token_of(0, 0, 3), 10);
  pair.store.truncate(0, 0, 4);
  pair.at(0, 0).truncate(4);
  pair.append_layer(0, 1, random);
  EXPECT_EQ(pair.store.token_of(0, 0, 4), 11);
  pair.keep(0, 0, {});
  pair.append_layer(0, 1, random);
  EXPECT_EQ(pair.store.token_of(0, 0, 0), 12);
  pair.store.clear();
  pair.reset();
  pair.append_layer(0, 1, random);
  EXPECT_EQ(pair.store.token_of(0, 0, 0), 0);
  pair.check();
}

TEST(KvStore, ColumnsAreSeparateByNameAndHead) {
  const std::vector<float> x(2 * 32 * 3, 1.0f);
  KvStore store(KvLayout{{2}, 32, DType::F32, 16});
  store.append(0, 3, view_of(x), view_of(x));
  const auto value = [](KvStore& of, int head, std::string_view name, size_t row) -> float& {
    return host(of.column(0, head, name))[row];
  };
  value(store, 0, "a", 1) = 5;
  value(store, 0, "b", 1) = 6;
  EXPECT_EQ(value(store, 0, "a", 1), 5);
  EXPECT_EQ(value(store, 0, "b", 1), 6);
  EXPECT_EQ(value(store, 1, "a", 1), 0);
  store.append(0, 1, view_of(x).part(0, 64), view_of(x).part(0, 64));
  EXPECT_EQ(store.column(0, 0, "a").size(), 4);
  EXPECT_EQ(value(store, 0, "a", 3), 0);
  KvStore other = store.fork();
  value(other, 0, "a", 1) = 7;
  EXPECT_EQ(value(store, 0, "a", 1), 5);
  store.keep(0, 0, std::vector<int32_t>{1, 3});
  EXPECT_EQ(value(store, 0, "a", 0), 5);
  EXPECT_EQ(value(other, 0, "a", 1), 7);
}

TEST(KvStore, StoresThatSharePagesWorkOnTwoThreads) {
  set_thread_count(1);
  const KvLayout layout{{2}, 32, DType::BF16, 16};
  std::mt19937 random(5);
  Pair base(layout);
  base.append_layer(0, 100, random);
  const auto work = [](Pair& p, unsigned seed) {
    std::mt19937 mine(seed);
    for (int i = 0; i < 100; ++i) {
      p.append_layer(0, 7, mine);
      for (int h = 0; h < 2; ++h) p.keep(0, h, random_subset(p.store.length(0, h), 95, mine));
    }
  };
  Pair first(base.store.fork(), base.plain), second(base.store.fork(), base.plain);
  std::thread one([&] { work(first, 1); }), two([&] { work(second, 2); });
  one.join();
  two.join();
  base.check();
  first.check();
  second.check();
}

TEST(KvLayout, CountsWholePagesOfEveryHead) {
  const KvLayout layout{{3, 1}, 64, DType::BF16};
  EXPECT_EQ(layout.largest_form().key_bytes(), 128u);
  EXPECT_EQ(layout.row_bytes(), 256u);
  EXPECT_EQ(layout.page_bytes(), 2u * 64 * 128);
  EXPECT_EQ(layout.bytes_for(0), 0u);
  EXPECT_EQ(layout.bytes_for(1), 4 * layout.page_bytes());
  EXPECT_EQ(layout.bytes_for(64), 4 * layout.page_bytes());
  EXPECT_EQ(layout.bytes_for(65), 8 * layout.page_bytes());
}

/// Row r of a head holds r + i / 100 at place i, its value the negative of it.
std::vector<float> counted_rows(int64_t rows, int dim, float sign = 1) {
  std::vector<float> numbers;
  for (int64_t r = 0; r < rows; ++r) {
    for (int i = 0; i < dim; ++i)
      numbers.push_back(sign * (static_cast<float>(r) + static_cast<float>(i) / 100));
  }
  return numbers;
}

TEST(KvLayout, LayersMayHaveHeadsOfTheirOwnSize) {
  const KvLayout layout{.heads = {1, 2}, .head_dim = 64, .type = DType::F32, .head_dims = {64, 32}};
  EXPECT_EQ(layout.page_bytes(), 64u * 2 * 64 * 4);
  EXPECT_EQ(layout.bytes_for(1), 64u * 2 * 4 * (64 + 2 * 32));
  KvStore store(layout);
  for (const int layer : {0, 1}) {
    const int dim = layout.dim_of(layer);
    const auto k = counted_rows(100, dim), v = counted_rows(100, dim, -1);
    store.append(layer, 100, View<const float>(k), View<const float>(v));
  }
  EXPECT_EQ(store.bytes(), layout.bytes_for(100));
  EXPECT_EQ(store.live_bytes(), 100u * 2 * 4 * (64 + 2 * 32));
  KvStore other = store.fork();
  other.drop(1, 1, 10, 80);
  std::vector<float> key(64), value(64);
  other.read(1, 1, 15, key.data(), value.data());
  EXPECT_EQ(key[31], 85.31f);
  store.read(1, 1, 15, key.data(), value.data());
  EXPECT_EQ(key[31], 15.31f);
  store.spill(0, 0, 0, 64);
  store.spill(1, 0, 0, 64);
  EXPECT_EQ(store.spilled_bytes(), 64u * 2 * 4 * (64 + 32));
  store.load(0, 0, 0, 64);
  store.read(0, 0, 63, key.data(), value.data());
  EXPECT_EQ(value[63], -63.63f);
  store.clear();
  EXPECT_EQ(store.bytes(), 0u);
}

TEST(KvLayout, ValuesThatAreKeysAreStoredOnce) {
  const KvLayout layout{.heads = {1}, .head_dim = 64, .type = DType::F32, .values_in_keys = true};
  EXPECT_EQ(layout.row_bytes(), 64u * 4);
  KvStore store(layout);
  const auto k = counted_rows(100, 64);
  store.append(0, 100, View<const float>(k), View<const float>(k));
  EXPECT_EQ(store.bytes(), 2u * 64 * 64 * 4);
  store.drop(0, 0, 3, 50);
  std::vector<float> key(64), value(64);
  store.read(0, 0, 3, key.data(), value.data());
  EXPECT_EQ(key[2], 50.02f);
  EXPECT_EQ(value, key);
  EXPECT_TRUE(store.rows(0, 0).values_in_keys);
}

}  // namespace
}  // namespace longhaul
