#include <gtest/gtest.h>

#include <limits>

#include "base/byte_stream.h"
#include "format/temp_folder.h"
#include "kv/plain_store.h"

namespace longhaul {
namespace {

using namespace testing_support;

/// Two layers of heads with different lengths, evicted rows and a column.
struct Sample {
  explicit Sample(KvType type) : store(KvLayout{{2, 1}, 32, type, 16}) {
    std::mt19937 random(23);
    for (int layer = 0; layer < 2; ++layer) {
      for (int h = 0; h < store.layout().heads[static_cast<size_t>(layer)]; ++h) {
        PlainHead& head = plain.emplace_back();
        for (int i = 0; i < 40 + 9 * h; ++i) {
          const auto k = random_row(32, random), v = random_row(32, random);
          store.append(layer, h, 1, view_of(k), view_of(v), 32);
          head.append(as_stored(type.k, true, k), as_stored(type.v, false, v));
        }
      }
    }
    const std::vector<int32_t> kept = {0, 3, 4, 17, 30, 39};
    store.keep(0, 1, kept);
    plain[1].keep(kept);
    host(store.column(0, 1, "mark"))[2] = plain[1].rows[2].mark = 4.5f;
  }
  void save(const std::filesystem::path& path) const {
    ByteWriter out(path);
    store.save(out);
    out.finish();
  }
  void check(KvStore& other) const {
    expect_same(other, 0, 0, plain[0]);
    expect_same(other, 0, 1, plain[1]);
    expect_same(other, 1, 0, plain[2]);
  }
  KvStore store;
  std::vector<PlainHead> plain;
};

TEST(KvFile, RestoresRowsTokensAndColumnsOfEveryType) {
  TempFolder folder;
  for (const KvType type : kKvTypes) {
    const Sample sample(type);
    const auto path = folder.path() / "kv";
    sample.save(path);
    KvStore other(KvLayout{{2, 1}, 32, type, 64});  // the page size may differ
    const std::vector<float> x(64, 1.0f);
    other.append(0, 1, view_of(x), view_of(x));  // will be replaced
    ByteReader in(path);
    other.restore(in);
    EXPECT_EQ(in.remaining(), 0u);
    sample.check(other);

    std::mt19937 random(2);
    const auto k = random_row(32, random);
    other.append(0, 1, 1, view_of(k), view_of(k), 32);
    EXPECT_EQ(other.token_of(0, 1, 6), 49);
  }
}

TEST(KvFile, AnotherLayoutIsNamedAndChangesNothing) {
  TempFolder folder;
  const auto path = folder.path() / "kv";
  Sample sample(DType::BF16);
  sample.save(path);
  const auto message = [&](const KvLayout& layout) {
    KvStore other(layout);
    const std::vector<float> x(static_cast<size_t>(layout.heads[0] * layout.head_dim), 1.0f);
    other.append(0, 1, view_of(x), view_of(x));
    const std::string text = error_of([&] {
      ByteReader in(path);
      other.restore(in);
    });
    EXPECT_EQ(other.length(0, 0), 1);
    return text;
  };
  EXPECT_TRUE(has(message({{2, 1}, 32, DType::F16}), {path.string(), "BF16", "F16"}));
  EXPECT_TRUE(has(message({{2, 1}, 32, {DType::BF16, DType::Q4_0}}), {"BF16", "k=BF16,v=Q4_0"}));
  EXPECT_TRUE(has(message({{2, 1}, 64, DType::BF16}), {"head dimension 32", "64"}));
  EXPECT_TRUE(has(message({{2}, 32, DType::BF16}), {"2 layers", "1"}));
  EXPECT_TRUE(has(message({{2, 3}, 32, DType::BF16}), {"layer 1", "1 heads", "3"}));
}

/// Writes a store file of one head by hand, with a correct checksum.
struct Forged {
  int64_t length = 2, appended = 2;
  std::vector<int32_t> tokens;
  uint32_t columns = 0;
  std::vector<float> values;
  int64_t spilled_begin = 0, spilled_end = 0;
  size_t row_floats = 2 * 2 * 32;

  std::string error(const TempFolder& folder) const {
    const auto path = folder.path() / "forged";
    {
      ByteWriter out(path);
      out.text("F32");
      out.number<int32_t>(32);
      out.array(std::span<const int32_t>(std::vector<int32_t>{1}));
      out.number(length);
      out.number(appended);
      out.array(std::span<const int32_t>(tokens));
      out.number(columns);
      for (uint32_t i = 0; i < std::min(columns, 2u); ++i) {
        out.text("c");
        out.array(std::span<const float>(values));
      }
      out.number(spilled_begin);
      out.number(spilled_end);
      const std::vector<float> rows(row_floats, 2.0f);
      out.bytes(rows.data(), rows.size() * sizeof(float));
      out.finish();
    }
    KvStore store(KvLayout{{1}, 32, DType::F32});
    const std::vector<float> x(32, 1.0f);
    store.append(0, 1, view_of(x), view_of(x));
    std::string message;
    try {
      ByteReader in(path);
      store.restore(in);
      EXPECT_EQ(store.length(0, 0), length);
      return "";
    } catch (const UserError& error) {
      message = error.what();
    }
    std::vector<float> k(32), v(32);
    EXPECT_EQ(store.length(0, 0), 1);
    store.read(0, 0, 0, k.data(), v.data());
    EXPECT_EQ(k, x);
    EXPECT_TRUE(has(message, {path.string(), "damaged"}));
    return message;
  }
};

TEST(KvFile, HostileNumbersAreRefusedAndChangeNothing) {
  TempFolder folder;
  const Forged good;
  EXPECT_EQ(good.error(folder), "");
  const auto with = [&](auto&& change) {
    Forged forged;
    change(forged);
    return forged.error(folder);
  };
  EXPECT_TRUE(has(with([](Forged& f) { f.length = -1; }), {"length"}));
  EXPECT_TRUE(has(with([](Forged& f) { f.length = 3; }), {"length"}));
  EXPECT_TRUE(has(with([](Forged& f) { f.length = f.appended = 3; }), {"ends too early"}));
  EXPECT_TRUE(has(with([](Forged& f) { f.length = f.appended = 1 << 30; }), {"ends too early"}));
  EXPECT_TRUE(has(with([](Forged& f) { f.length = f.appended = INT32_MAX; }), {"length"}));
  EXPECT_TRUE(has(with([](Forged& f) { f.tokens = {0, 1}, f.appended = INT32_MAX; }), {"length"}));
  EXPECT_TRUE(has(with([](Forged& f) { f.length = f.appended = INT64_MAX; }), {"length"}));
  EXPECT_TRUE(has(with([](Forged& f) { f.tokens = {0}; }), {"token list"}));
  EXPECT_TRUE(has(with([](Forged& f) { f.tokens = {1, 1}, f.appended = 9; }), {"order"}));
  EXPECT_TRUE(has(with([](Forged& f) { f.tokens = {0, 9}, f.appended = 9; }), {"order"}));
  EXPECT_TRUE(has(with([](Forged& f) { f.tokens = {-1, 1}, f.appended = 9; }), {"order"}));
  EXPECT_TRUE(has(with([](Forged& f) { f.columns = UINT32_MAX; }), {"columns"}));
  EXPECT_TRUE(has(with([](Forged& f) { f.columns = 1; }), {"column"}));
  EXPECT_TRUE(has(with([](Forged& f) { f.row_floats = 100; }), {"ends too early"}));
  EXPECT_TRUE(has(with([](Forged& f) { f.spilled_begin = -1; }), {"slower tier"}));
  EXPECT_TRUE(has(with([](Forged& f) { f.spilled_begin = 1; }), {"slower tier"}));
  EXPECT_TRUE(has(with([](Forged& f) { f.spilled_end = 3; }), {"slower tier"}));
}

}  // namespace
}  // namespace longhaul
