#include <fmt/format.h>
#include <gtest/gtest.h>

#include "attention/attention_by_distance.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::expect_by_distance;
using testing_support::has;
using testing_support::largest_difference;
using testing_support::make;
using testing_support::MethodRun;
using testing_support::small_shape;

/// Whether row i sees j in a triangle layer of a prompt that ends at `end`.
bool sees(int64_t i, int64_t j, int64_t sink, int64_t window, int64_t last, int64_t end) {
  return i >= end - last || j < sink || i - j < window;
}

TEST(Triangle, TheSpecificationsSmallExample) {
  const ModelShape shape = small_shape(1, 1, 1, 32);
  for (const int chunk : {1, 3, 8}) {
    const auto method = make("triangle:sink=1,window=2,last=2", shape);
    MethodRun run(shape, *method, DType::F32, 8);
    run.prompt(8, chunk);
    const int64_t row_pairs[] = {1, 2, 3, 3, 3, 3, 7, 8};
    for (int64_t i = 0; i < 8; ++i) {
      int64_t count = 0;
      for (int64_t j = 0; j <= i; ++j) count += sees(i, j, 1, 2, 2, 8);
      EXPECT_EQ(count, row_pairs[i]);
    }
    EXPECT_EQ(run.record.pairs, 30) << "chunk " << chunk;
    EXPECT_EQ(run.record.dense_pairs, 36);
    expect_by_distance(run, [](int, int, int64_t i, int64_t j) {
      return sees(i, j, 1, 2, 2, 8) ? std::optional(i - j) : std::nullopt;
    });
  }
}

TEST(Triangle, ChunksMayCutAnywhereAndEachPromptHasItsOwnLastRows) {
  const ModelShape shape = small_shape(2, 2, 3, 32);
  for (const int chunk : {1, 37, 64, 300}) {
    const auto method = make("triangle:sink=5,window=20,last=30", shape);
    MethodRun run(shape, *method, DType::F32, 320);
    run.prompt(211, chunk);
    run.decode(9);
    run.prompt(95, chunk);
    run.decode(5);
    expect_by_distance(run, [](int, int, int64_t i, int64_t j) {
      const bool dense = (i >= 211 && i < 220) || i >= 315;  // generated
      const int64_t end = i < 220 ? 211 : 315;
      return dense || sees(i, j, 5, 20, 30, end) ? std::optional(i - j) : std::nullopt;
    });
  }
}

TEST(TriangleMix, LayersBelowTheStartAreDense) {
  ModelShape shape = small_shape(4, 1, 2, 32);
  shape.window = {0, 0, 0, 6};  // a layer with its own window is unchanged
  for (const char* options : {"", ",start_layer=2"}) {
    const auto method = make(std::string("trianglemix:sink=3,window=11,last=7") + options, shape);
    MethodRun run(shape, *method, DType::F32, 130);
    run.prompt(125, 50);
    run.decode(5);
    expect_by_distance(run, [](int layer, int, int64_t i, int64_t j) {
      bool seen = layer < 2 || i >= 125 || sees(i, j, 3, 11, 7, 125);
      if (layer == 3) seen = i - j < 6;
      return seen ? std::optional(i - j) : std::nullopt;
    });
  }
}

TEST(TriangleMix, LayersMayBeNamedOrTheFirstOfARanking) {
  const ModelShape shape = small_shape(4, 1, 2, 32);
  for (const char* layers : {"layers=3/0", "ranking=3/0/2/1",
                             "ranking=0/3/1,triangle_layers=2"}) {  // half of the layers
    SCOPED_TRACE(layers);
    const auto method = make(std::string("trianglemix:sink=3,window=11,last=7,") + layers, shape);
    MethodRun run(shape, *method, DType::F32, 130);
    run.prompt(125, 50);
    run.decode(5);
    expect_by_distance(run, [](int layer, int, int64_t i, int64_t j) {
      const bool dense = layer == 1 || layer == 2 || i >= 125;
      return dense || sees(i, j, 3, 11, 7, 125) ? std::optional(i - j) : std::nullopt;
    });
  }
}

TEST(TriangleMix, NoTriangleLayersOrLastRowsThatAreAllRowsAreDense) {
  const ModelShape shape = small_shape(2, 1, 2, 32);
  for (const char* text : {"trianglemix:sink=0,window=1,last=0,start_layer=2",
                           "triangle:sink=0,window=1,last=99", "triangle:window=100,last=0"}) {
    const auto method = make(text, shape);
    MethodRun run(shape, *method, DType::F32, 100);
    run.prompt(100, 33);
    expect_by_distance(run, [](int, int, int64_t i, int64_t j) { return std::optional(i - j); });
    EXPECT_EQ(run.record.pairs, run.record.dense_pairs);
  }
}

TEST(Triangle, GeneratedTokensSeeEverythingEvenWithoutLastRows) {
  const ModelShape shape = small_shape(1, 2, 2, 32);
  for (const char* text : {"triangle:sink=2,window=5,last=0",
                           "trianglemix:sink=2,window=5,last=0,start_layer=0,dense=xattention"}) {
    const auto method = make(text, shape);
    MethodRun run(shape, *method, DType::F32, 70);
    run.prompt(60, 23);
    run.decode(10);
    expect_by_distance(run, [](int, int, int64_t i, int64_t j) {
      return i >= 60 || sees(i, j, 2, 5, 0, 60) ? std::optional(i - j) : std::nullopt;
    });
  }
}

TEST(Triangle, RowsDoNotDependOnWhatTheyDoNotSee) {
  const ModelShape shape = small_shape(1, 1, 2, 32);
  const auto method = make("triangle:sink=2,window=10,last=4", shape);
  MethodRun run(shape, *method, DType::F32, 60);
  run.prompt(60, 60);
  MethodRun other(shape, *method, DType::F32, 60);
  for (int64_t e = 2 * 32; e < 30 * 32; ++e) {  // tokens 2..29
    other.inputs[0].k[static_cast<size_t>(e)] += 1;
    other.inputs[0].v[static_cast<size_t>(e)] -= 2;
  }
  other.prompt(60, 60);
  const auto row_equal = [&](int64_t i) {
    return std::equal(run.out[0].begin() + i * 64, run.out[0].begin() + (i + 1) * 64,
                      other.out[0].begin() + i * 64);
  };
  for (int64_t i = 39; i < 56; ++i) EXPECT_TRUE(row_equal(i)) << i;
  EXPECT_FALSE(row_equal(38));
  for (int64_t i = 56; i < 60; ++i) EXPECT_FALSE(row_equal(i)) << i;
}

TEST(TriangleMix, LowerLayersMayReadThePromptByAnotherMethod) {
  const ModelShape shape = small_shape(4, 1, 2, 32);
  const struct {
    const char* mix;
    const char* lower;
  } cases[] = {
      {"minference,dense_options=dense_below=0+vertical=0+slash=0",
       "minference:dense_below=0,vertical=0,slash=0"},
      {"flexprefill,dense_options=dense_below=0+min_budget=128",
       "flexprefill:dense_below=0,min_budget=128,gamma=0.95"},
      {"xattention,dense_options=tau=0.4+dense_below=0", "xattention:dense_below=0,tau=0.4"}};
  for (const auto& c : cases) {
    const std::string triangle = "sink=3,window=11,last=7";
    const auto mix = make("trianglemix:" + triangle + ",dense=" + c.mix, shape);
    const auto lower = make(c.lower, shape), upper = make("triangle:" + triangle, shape);
    MethodRun run(shape, *mix, DType::F32, 560), low(shape, *lower, DType::F32, 560),
        up(shape, *upper, DType::F32, 560);
    for (MethodRun* r : {&run, &low, &up}) {
      r->prompt(500, 256);
      r->decode(4);
      r->prompt(50, 256);
      r->decode(6);
    }
    for (size_t layer = 0; layer < 4; ++layer) {
      const std::vector<float>& want = layer < 2 ? low.out[layer] : up.out[layer];
      EXPECT_LT(largest_difference(run.out[layer], {want.begin(), want.end()}), 2e-6) << c.mix;
    }
    EXPECT_EQ(2 * run.record.pairs, low.record.pairs + up.record.pairs);
    EXPECT_GT(mix->working_bytes(5000, 256), 0u);
    EXPECT_EQ(mix->working_bytes(5000, 256), lower->working_bytes(5000, 256)) << c.mix;
    EXPECT_LT(run.record.pairs, run.record.dense_pairs);
  }
}

TEST(TriangleMix, RefusesOptionsOfALowerMethodThatItLacks) {
  const ModelShape shape = small_shape(3, 1, 1, 32);
  EXPECT_TRUE(
      has(error_of([&] { make("trianglemix:dense=flexprefill,dense_options=stride=8", shape); }),
          {"flexprefill", "'stride'"}));
  EXPECT_TRUE(has(error_of([&] { make("trianglemix:dense_options=gamma=1", shape); }),
                  {"trianglemix", "dense_options", "no effect with dense=full"}));
}

TEST(TriangleMix, RefusesALayerThatTheModelLacks) {
  const ModelShape shape = small_shape(3, 1, 1, 32);
  EXPECT_TRUE(has(error_of([&] { make("trianglemix:start_layer=4", shape); }),
                  {"trianglemix", "start_layer=4", "0 to 3"}));
  for (const char* layer : {"3", "-1", "1.5", "x", ""}) {
    EXPECT_TRUE(has(error_of([&] { make(fmt::format("trianglemix:layers=0/{}/1", layer), shape); }),
                    {"trianglemix", "layers", fmt::format("'{}'", layer), "0 to 2"}));
  }
}

TEST(TriangleMix, RefusesALayerThatIsNamedTwice) {
  const ModelShape shape = small_shape(4, 1, 1, 32);
  for (const char* layers : {"3/3", "0/2/1/2", "1/01"}) {
    for (const char* key : {"layers", "ranking"}) {
      EXPECT_TRUE(has(error_of([&] { make(fmt::format("trianglemix:{}={}", key, layers), shape); }),
                      {fmt::format("--attention trianglemix: {}=", key), layers, "named twice"}));
    }
  }
}

TEST(TriangleMix, RefusesMoreTriangleLayersThanTheRankingHas) {
  const ModelShape shape = small_shape(4, 1, 1, 32);
  EXPECT_TRUE(has(error_of([&] { make("trianglemix:ranking=1/2,triangle_layers=5", shape); }),
                  {"--attention trianglemix: triangle_layers", "3 more than the ranking has"}));
}

}  // namespace
}  // namespace longhaul
