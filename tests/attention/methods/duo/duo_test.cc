#include <gtest/gtest.h>

#include <algorithm>

#include "attention/attention_by_distance.h"
#include "attention/methods/duo/gated_heads.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::expect_by_distance;
using testing_support::has;
using testing_support::MethodRun;
using testing_support::small_shape;
using testing_support::TempFolder;

int64_t count(const FullHeads& heads) {
  int64_t full = 0;
  for (const auto& layer : heads) full += std::count(layer.begin(), layer.end(), true);
  return full;
}

TEST(DuoGates, SparsityIsAQuantileOverTheWholeModel) {
  const HeadGates gates = {{.6, .05, 1, .2}, {.1, .9, .4, .8}};
  EXPECT_EQ(count(full_by_sparsity(gates, .25)), 6);
  EXPECT_EQ(count(full_by_sparsity(gates, .5)), 4);
  EXPECT_EQ(count(full_by_sparsity(gates, .75)), 2);
  EXPECT_EQ(count(full_by_sparsity(gates, 0)), 8);
  EXPECT_EQ(count(full_by_sparsity(gates, 1)), 0);
  EXPECT_EQ(full_by_sparsity(gates, .75),
            (FullHeads{{false, false, true, false}, {false, true, false, false}}));
  // The result equals that for the thresholds at these quantiles.
  for (const auto& [sparsity, quantile] : {std::pair{.25, .175}, {.5, .5}, {.75, .825}}) {
    EXPECT_EQ(full_by_sparsity(gates, sparsity), full_by_threshold(gates, quantile));
  }
  // 9 of the 36 KV heads of a 12-layer model.
  EXPECT_EQ(count(full_by_sparsity(HeadGates(12, {.1, .2, .3}), .75)), 9);
}

TEST(DuoGates, TiesGoToTheLowerLayerThenTheLowerHead) {
  const HeadGates gates(3, {1, 1});
  EXPECT_EQ(full_by_sparsity(gates, .5), (FullHeads{{true, true}, {true, false}, {false, false}}));
}

TEST(DuoGates, ReadsATableAndClipsIt) {
  const TempFolder folder;
  const auto file = folder.write("g.tsv", "-9.58e-05\t5.0e-01\r\n1.000000e+00\t1.25\n\n");
  EXPECT_EQ(read_gates(file, std::vector<int>{2, 2}), (HeadGates{{0, .5}, {1, 1}}));
}

TEST(DuoGates, RefusesOtherShapesAndTextThatIsNone) {
  const TempFolder folder;
  const std::vector<int> heads = {2, 2};
  const auto refused = [&](std::string_view text) {
    return error_of([&] { read_gates(folder.write("g.tsv", text), heads); });
  };
  EXPECT_TRUE(has(refused("1 1\n"), {"g.tsv", "1 rows", "2 layers"}));
  EXPECT_TRUE(has(refused("1 1\n1 1\n1 1\n"), {"g.tsv", "3 rows", "2 layers"}));
  EXPECT_TRUE(has(refused("1 1\n1 1 1\n"), {"line 2 has 3 columns", "layer 1", "2 KV heads"}));
  EXPECT_TRUE(has(refused("1\n1\n"), {"line 1 has 1 columns", "2 KV heads"}));
  EXPECT_TRUE(has(refused("1 x\n1 1\n"), {"line 1", "'x' is no gate"}));
  EXPECT_TRUE(has(refused("1 nan\n1 1\n"), {"line 1", "'nan' is no gate"}));
  EXPECT_TRUE(has(refused(std::string("1 \x01\0\xff\n", 6)), {"line 1", "'\?\?\?' is no gate"}));
  EXPECT_TRUE(has(refused(""), {"0 rows"}));
  EXPECT_TRUE(has(error_of([&] { read_gates(folder.path() / "none.tsv", heads); }), {"none.tsv"}));
}

TEST(DuoGates, RefusalsNameTheOption) {
  const TempFolder folder;
  const std::vector<int> heads = {2};
  const auto file = folder.write("g.tsv", "1 1 1\n");
  EXPECT_EQ(error_of([&] { read_gates(file, heads); }),
            "--attention duo: gates=" + file.string() +
                ": line 1 has 3 columns, layer 0 of the model has 2 KV heads");
  const std::string none = (folder.path() / "none.tsv").string();
  EXPECT_EQ(
      error_of([&] { MethodSpec::parse("duo:gates=" + none).make(small_shape(1, 2, 1, 32)); }),
      "--attention duo: gates=" + none + ": cannot open: No such file or directory");
}

// The searched heads of models/nano/README.md. No tie decides between them.
TEST(DuoGates, NanosOwnKeepTheNineSearchedHeads) {
  const HeadGates gates = read_gates(LONGHAUL_MODELS "/nano/duo_gates.tsv", std::vector(12, 3));
  FullHeads nine(12, {false, false, false});
  for (const auto& [layer, head] : {std::pair<size_t, size_t>{3, 0},
                                    {5, 0},
                                    {5, 1},
                                    {7, 1},
                                    {7, 2},
                                    {8, 2},
                                    {9, 0},
                                    {9, 1},
                                    {10, 0}}) {
    nine[layer][head] = true;
  }
  EXPECT_EQ(full_by_sparsity(gates, .75), nine);
  EXPECT_EQ(full_by_threshold(gates, .905), nine);
}

class Duo : public ::testing::Test {
 protected:
  std::unique_ptr<AttentionDriver> make(const std::string& options) const {
    return MethodSpec::parse("duo:gates=" + file_.string() + options).make(shape_);
  }

  TempFolder folder_;
  // Layer 0: head 0 full; layer 1: none; layer 2: both.
  std::filesystem::path file_ = folder_.write("g.tsv", ".9 .1\n.2 .3\n.7 .8\n");
  ModelShape shape_ = small_shape(3, 2, 2, 32);
  static bool full(int layer, int head) { return layer == 2 || (layer == 0 && head == 0); }
};

TEST_F(Duo, AfterADenseFirstPassStreamingHeadsSeeSinksRecentTokensAndTheirPass) {
  for (const int chunk : {1, 30, 70, 400}) {
    const auto method = make(",sink=6,recent=21");
    MethodRun run(shape_, *method, DType::F32, 330);
    run.prompt(311, chunk);
    run.decode(19);
    std::vector<int64_t> begins;
    for (const Pass& pass : method->prepare({0, 311, 0, chunk})) {
      begins.resize(static_cast<size_t>(pass.begin + pass.count), pass.begin);
    }
    for (int64_t i = 311; i < 330; ++i) begins.push_back(i);
    expect_by_distance(run, [&](int layer, int head, int64_t i, int64_t j) {
      const bool seen = full(layer, head) || j < 6 || j >= begins[static_cast<size_t>(i)] - 21;
      return seen ? std::optional(i - j) : std::nullopt;
    });
  }
}

TEST_F(Duo, StrictStreamingDoesNotDependOnThePasses) {
  for (const int chunk : {1, 30, 70, 400}) {
    const auto method = make(",sink=6,recent=21,prefill_mode=strict_streaming");
    MethodRun run(shape_, *method, DType::F32, 330);
    run.prompt(311, chunk);
    run.decode(19);
    expect_by_distance(run, [&](int layer, int head, int64_t i, int64_t j) {
      const bool seen = full(layer, head) || j < 6 || i - j <= 21;
      return seen ? std::optional(i - j) : std::nullopt;
    });
  }
}

TEST_F(Duo, StrictStreamingInAllHeadsIsATriangleWithoutLastRows) {
  const auto duo =
      MethodSpec::parse("duo:sparsity=1,sink=6,recent=21,prefill_mode=strict_streaming")
          .make(shape_);
  const auto triangle = MethodSpec::parse("triangle:sink=6,window=22,last=0").make(shape_);
  MethodRun a(shape_, *duo, DType::F32, 200), b(shape_, *triangle, DType::F32, 200);
  a.prompt(200, 64);
  b.prompt(200, 90);
  EXPECT_EQ(a.record.pairs, b.record.pairs);
  for (size_t l = 0; l < 3; ++l) {
    const std::vector<double> want(b.out[l].begin(), b.out[l].end());
    EXPECT_LT(testing_support::largest_difference(a.out[l], want), 2e-5);
  }
}

TEST_F(Duo, StreamingHeadsHoldNoMoreThanTheyKeep) {
  const auto method = make(",sink=6,recent=100");
  MethodRun run(shape_, *method, DType::BF16, 1500);
  run.prompt(1200, 256);
  for (int i = 0; i < 300; ++i) {
    run.decode(1);
    for (int layer = 0; layer < 3; ++layer) {
      for (int head = 0; head < 2; ++head) {
        const int64_t length = run.store.length(layer, head);
        if (full(layer, head)) {
          ASSERT_EQ(length, run.done);
        } else {
          ASSERT_GE(length, 106);
          ASSERT_LT(length, 106 + run.store.layout().page_rows);
        }
      }
    }
  }
  // Three of six heads hold 1,500 tokens, three at most 169, in whole pages.
  const KvLayout& layout = run.store.layout();
  EXPECT_LT(run.store.bytes(), layout.bytes_for(1500) * 6 / 10);
  EXPECT_LT(method->most_kv_bytes(layout, 1500, 64), layout.bytes_for(1500) * 6 / 10);
  EXPECT_EQ(method->most_kv_bytes(layout, 90, 64), layout.bytes_for(90));
  const int64_t length = run.store.length(1, 0);
  for (int64_t row = 0; row < 6; ++row) EXPECT_EQ(run.store.token_of(1, 0, row), row);
  for (int64_t back = 1; back <= 100; ++back) {
    EXPECT_EQ(run.store.token_of(1, 0, length - back), 1500 - back);
  }
}

TEST(DuoGates, AQuarterOfTheHeadsInFourBitsTakesLessThanATenthOfDenseBf16) {
  const ModelShape nano = small_shape(12, 3, 2, 64);
  const MethodSpec duo =
      MethodSpec::parse("duo:gates=" LONGHAUL_MODELS "/nano/duo_gates.tsv,sparsity=0.75");
  const auto method = duo.make(nano);
  constexpr int64_t kTokens = 131072;
  const auto share = [&](const KvType& type) {
    const auto held =
        static_cast<double>(method->most_kv_bytes(method->layout(nano, type), kTokens, 1024));
    return held / static_cast<double>(method->layout(nano, DType::BF16).bytes_for(kTokens));
  };
  EXPECT_LE(share(DType::Q4_0), 0.09);
  EXPECT_GE(share(DType::Q4_0), 0.07);  // a quarter of 18 bytes for 64
  // A row's token number, 4 bytes, is stored beside its key and value.
  EXPECT_NEAR(share({DType::Q8_0, DType::Q4_0}) / share(DType::Q4_0), 108.0 / 76, 1e-3);
}

TEST_F(Duo, ThresholdChoosesTheHeads) {
  const auto method = make(",threshold=0.8,sink=2,recent=10");
  MethodRun run(shape_, *method, DType::F32, 200);
  run.prompt(200, 50);
  EXPECT_EQ(run.store.length(0, 0), 200);
  EXPECT_EQ(run.store.length(2, 1), 200);
  EXPECT_LT(run.store.length(2, 0), 12 + 64);
}

TEST_F(Duo, LayersWithAWindowOfTheirOwnStayAsTheyAre) {
  shape_.window = {0, 13, 0};
  const auto method = make(",sparsity=1,sink=2,recent=10,prefill_mode=strict_streaming");
  MethodRun run(shape_, *method, DType::F32, 150);
  run.prompt(140, 50);
  run.decode(10);
  expect_by_distance(run, [](int layer, int, int64_t i, int64_t j) {
    const bool seen = layer == 1 ? i - j < 13 : j < 2 || i - j <= 10;
    return seen ? std::optional(i - j) : std::nullopt;
  });
}

TEST_F(Duo, RefusesWhatItCannotDecide) {
  for (const char* undecided : {"duo", "duo:gates=", "duo:sparsity=0.75", "duo:sparsity=0.999"}) {
    EXPECT_TRUE(has(error_of([&] { MethodSpec::parse(undecided).make(shape_); }),
                    {"--attention duo: needs gates or sparsity=0|1",
                     "longhaul calibrate duo --save", "--profiles NAME"}))
        << undecided;
  }
  for (const char* decided : {"duo:sparsity=0", "duo:sparsity=1", "duo:sparsity=1.0"}) {
    EXPECT_NO_THROW(MethodSpec::parse(decided).make(shape_)) << decided;
  }
  const ModelShape other = small_shape(4, 2, 2, 32);
  EXPECT_TRUE(has(error_of([&] { MethodSpec::parse("duo:gates=" + file_.string()).make(other); }),
                  {"g.tsv", "3 rows", "4 layers"}));
}

}  // namespace
}  // namespace longhaul
