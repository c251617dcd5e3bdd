#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "attention/methods/minference/pattern_file.h"
#include "attention/sparse_oracle.h"
#include "base/error.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using namespace testing_support;

/// docs/methods/minference.md in plain loops: the keys that the rows of a pass [begin, end) see.
class VerticalSlash {
 public:
  VerticalSlash(const SparseOracle& oracle, int heads, int64_t begin, int64_t end, int64_t vertical,
                int64_t slash, int64_t last = 64) {
    for (int head = 0; head < heads; ++head) {
      std::vector<double> columns, diagonals;
      oracle.lines(head, std::max(begin, end - last), end, columns, diagonals);
      for (size_t j = 0; j < 30 && j < columns.size(); ++j) columns[j] = INFINITY;
      for (size_t o = 0; o < 100 && o < diagonals.size(); ++o) diagonals[o] = INFINITY;
      columns_.push_back(best_by_definition(columns, std::max<int64_t>(vertical, 30)));
      diagonals_.push_back(best_by_definition(diagonals, std::max<int64_t>(slash, 100)));
    }
  }
  bool sees(int head, int64_t i, int64_t j) const {
    const auto& columns = columns_[static_cast<size_t>(head)];
    if (std::binary_search(columns.begin(), columns.end(), j)) return true;
    const int64_t tile_end = i / 64 * 64 + 64;
    for (const int64_t o : diagonals_[static_cast<size_t>(head)]) {
      if (o >= tile_end) continue;
      const int64_t end = std::max<int64_t>(tile_end - o, 64);
      if (j >= end - 64 && j < end) return true;
    }
    return false;
  }

 private:
  std::vector<std::vector<int64_t>> columns_, diagonals_;
};

TEST(MInference, VerticalSlashSeesWhatTheDefinitionSees) {
  for (const int group : {1, 2, 3, 8}) {
    const ModelShape shape = small_shape(1, group == 3 ? 2 : 1, group, 32);
    const auto method = make("minference:dense_below=0,vertical=37,slash=102", shape);
    MethodRun run(shape, *method, DType::F32, 706);
    run.prompt(701, 1000);
    run.decode(5);
    const SparseOracle oracle(run, 0);
    const VerticalSlash mask(oracle, shape.heads, 0, 701, 37, 102);
    oracle.expect(
        run, 0, [&](int head, int64_t i, int64_t j) { return i >= 701 || mask.sees(head, i, j); });
    EXPECT_LT(run.record.pairs, run.record.dense_pairs * 8 / 10);
  }
}

TEST(MInference, EachPassAndEachPromptLooksAtItsOwnLastRows) {
  const ModelShape shape = small_shape(1, 1, 2, 32);
  const auto method = make("minference:dense_below=0,vertical=20,slash=40,last=16", shape);
  MethodRun run(shape, *method, DType::F32, 700);
  run.prompt(300, 200);  // passes end at multiples of 64
  run.decode(2);
  run.prompt(390, 256);
  const SparseOracle oracle(run, 0);
  const std::vector<int64_t> ends = {128, 300, 302, 448, 692};
  std::vector<VerticalSlash> masks;
  for (size_t p = 0; p < ends.size(); ++p) {
    masks.emplace_back(oracle, 2, p == 0 ? 0 : ends[p - 1], ends[p], 20, 40, 16);
  }
  oracle.expect(run, 0, [&](int head, int64_t i, int64_t j) {
    size_t p = 0;
    while (i >= ends[p]) ++p;
    return p == 2 || masks[p].sees(head, i, j);
  });
}

TEST(MInference, ForcedColumnsAndDiagonalsAreAlwaysThere) {
  const ModelShape shape = small_shape(1, 1, 2, 32);
  const auto method = make("minference:dense_below=0,vertical=0,slash=0", shape);
  MethodRun run(shape, *method, DType::F32, 500);
  run.prompt(500, 500);
  const SparseOracle oracle(run, 0);
  oracle.expect(run, 0, [](int, int64_t i, int64_t j) {
    const int64_t end = i / 64 * 64 + 64;  // end of the row's tile
    return j < 30 || j >= end - 99 - 64;
  });
}

TEST(MInference, BlocksAreThoseWithTheClosestMeans) {
  for (const int group : {1, 3}) {
    const ModelShape shape = small_shape(1, 2, group, 32);
    // Choices are per tile of rows, so passes have no influence.
    for (const int chunk : {1000, 128}) {
      const auto method = make("minference:dense_below=0,pattern=blocks,vertical=3", shape);
      MethodRun run(shape, *method, DType::F32, 450);
      run.prompt(450, chunk);
      const SparseOracle oracle(run, 0);
      std::map<std::pair<int, int64_t>, std::vector<int64_t>> chosen;
      for (int head = 0; head < shape.heads; ++head) {
        for (int64_t tile = 0; tile * 64 < 450; ++tile) {
          const auto query =
              oracle.mean(false, head, tile * 64, std::min<int64_t>(450, tile * 64 + 64));
          std::vector<double> scores;
          for (int64_t b = 0; b <= tile; ++b) {
            scores.push_back(dot_of(
                query, oracle.mean(true, head, b * 64, std::min<int64_t>(450, b * 64 + 64))));
          }
          chosen[{head, tile}] = best_by_definition(scores, 3);
        }
      }
      // A row sees nothing of its own tile if the tile was not chosen.
      oracle.expect(run, 0, [&](int head, int64_t i, int64_t j) {
        const auto& blocks = chosen[{head, i / 64}];
        return std::find(blocks.begin(), blocks.end(), j / 64) != blocks.end();
      });
    }
  }
}

TEST(MInference, AShapeIsTheTriangleWithoutLastRows) {
  const ModelShape shape = small_shape(1, 2, 2, 32);
  for (const int chunk : {20, 128, 400}) {
    const auto method = make("minference:dense_below=0,pattern=a_shape,vertical=7,slash=50", shape);
    const auto triangle = make("triangle:sink=7,window=50,last=0", shape);
    MethodRun run(shape, *method, DType::F32, 301), same(shape, *triangle, DType::F32, 301);
    run.prompt(301, chunk);
    same.prompt(301, chunk);
    EXPECT_EQ(run.record.pairs, same.record.pairs);
    EXPECT_LT(largest_difference(run.out[0], {same.out[0].begin(), same.out[0].end()}), 2e-6);
  }
}

TEST(MInference, RowsBelowAThresholdSeeEverything) {
  const ModelShape shape = small_shape(1, 1, 1, 32);
  const auto method = make("minference:dense_below=100,pattern=a_shape,vertical=2,slash=9", shape);
  MethodRun run(shape, *method, DType::F32, 300);
  run.prompt(300, 64);
  const SparseOracle oracle(run, 0);
  oracle.expect(run, 0, [](int, int64_t i, int64_t j) { return i < 128 || j < 2 || i - j < 9; });
}

TEST(MInference, PatternsComeFromAFile) {
  const TempFolder folder;
  const auto file = folder.path() / "p.json";
  std::ofstream(file)
      << R"([{"0": ["stream_llm", 4, 60, 0.9], "1": ["vertical_and_slash", 40, 110]},
    {"1": ["stream_llm", 0, 30], "0": ["block_sparse", 100, 0, 1]}])";
  const ModelShape shape = small_shape(2, 1, 2, 32);
  const auto method = make("minference:dense_below=0,patterns=" + file.string(), shape);
  MethodRun run(shape, *method, DType::F32, 333);
  run.prompt(333, 400);
  const SparseOracle first(run, 0), second(run, 1);
  const VerticalSlash mask(first, 2, 0, 333, 40, 110);
  first.expect(run, 0, [&](int head, int64_t i, int64_t j) {
    return head == 0 ? j < 4 || i - j < 60 : mask.sees(head, i, j);
  });
  second.expect(run, 1, [](int head, int64_t i, int64_t j) { return head == 0 || i - j < 30; });

  // Numbers take precedence over the file that the model's profile names.
  const std::string numbers = "minference:dense_below=0,pattern=a_shape,vertical=3,slash=20";
  folder.write("minference.json", R"({"options": {"patterns": {"file": "p.json"}}})");
  ModelShape profiled = shape;
  profiled.profile_prefix = (folder.path() / "").string();
  const auto plain = make(numbers, shape), both = make(numbers, profiled);
  MethodRun one(shape, *plain, DType::F32, 333), other(shape, *both, DType::F32, 333);
  one.prompt(333, 400);
  other.prompt(333, 400);
  EXPECT_EQ(one.out, other.out);
  const auto named = make("minference:dense_below=0", profiled);
  MethodRun third(shape, *named, DType::F32, 333);
  third.prompt(333, 400);
  EXPECT_EQ(third.out, run.out);
}

TEST(MInference, ThePublishedFileOfLlama31) {
  const auto file = std::filesystem::path(LONGHAUL_TEST_DATA) / "minference" /
                    "Llama_3.1_8B_Instruct_128k_kv_out_v32_fit_o_best_pattern.json";
  const HeadPatterns patterns = read_patterns(file, 32, 32);
  std::map<std::pair<int64_t, int64_t>, int> mix;  // number of heads per {vertical, slash}
  for (const auto& layer : patterns) {
    for (const HeadPattern& p : layer) {
      EXPECT_EQ(p.kind, PatternKind::kVerticalSlash);
      ++mix[{p.vertical, p.slash}];
    }
  }
  const std::map<std::pair<int64_t, int64_t>, int> want = {{{1000, 6096}, 279}, {{100, 800}, 297},
                                                           {{30, 800}, 175},    {{3500, 100}, 149},
                                                           {{500, 700}, 120},   {{100, 750}, 4}};
  EXPECT_EQ(mix, want);
  EXPECT_TRUE(has(error_of([&] { read_patterns(file, 28, 32); }),
                  {"best_pattern.json", "32 layers", "28"}));
  EXPECT_TRUE(has(error_of([&] { read_patterns(file, 32, 28); }),
                  {"best_pattern.json", "layer 0", "32 heads", "28"}));
}

TEST(MInference, RefusesFilesThatMakeNoSense) {
  const TempFolder folder;
  const auto file = folder.path() / "p.json";
  const auto error = [&](const std::string& text) {
    std::ofstream(file) << text;
    return error_of([&] { read_patterns(file, 1, 1); });
  };
  EXPECT_TRUE(has(error("{}"), {"p.json", "list"}));
  EXPECT_TRUE(has(error("[3]"), {"p.json", "layer 0", "0 heads"}));
  EXPECT_TRUE(has(error(R"([{"1": ["stream_llm", 1, 2]}])"), {"layer 0 lacks head 0"}));
  EXPECT_TRUE(has(error(R"([{"0": ["slash", 1, 2]}])"), {"layer 0, head 0", "'slash'"}));
  EXPECT_TRUE(has(error(R"([{"0": ["stream_llm", -1, 2]}])"), {"head 0", "-1"}));
  EXPECT_TRUE(has(error(R"([{"0": ["stream_llm", 1, 0]}])"), {"head 0", "window"}));
  EXPECT_TRUE(has(error(R"([{"0": ["stream_llm", 1]}])"), {"head 0", "[kind"}));
  const ModelShape shape = small_shape(1, 1, 1, 32);
  EXPECT_TRUE(has(error_of([&] { make("minference:pattern=a_shape,slash=0", shape); }),
                  {"minference", "slash=0"}));
}

TEST(MInference, RefusalsOfAFileNameTheOption) {
  const TempFolder folder;
  const auto file = folder.write("p.json", "[");
  const ModelShape shape = small_shape(1, 1, 1, 32);
  for (const std::string& name : {file.string(), (folder.path() / "none.json").string()}) {
    const std::string error = error_of([&] { make("minference:patterns=" + name, shape); });
    EXPECT_EQ(error.find("--attention minference: patterns=" + name + ": "), 0u) << error;
  }
  const std::string nowhere = (folder.path() / "no" / "p.json").string();
  const std::string refused = "--attention minference: save=" + nowhere + ": cannot be written";
  EXPECT_EQ(error_of([&] {
              make("minference:patterns=search,save=" + nowhere, shape)->prepare({0, 100, 0, 64});
            }),
            refused + ": no such folder");
  EXPECT_TRUE(has(error_of([&] { write_patterns(nowhere, {}); }),
                  {"--attention minference: save=" + nowhere, "cannot be written"}));
}

TEST(MInference, WhatWasReadOutlivesAFileThatCannotBeWritten) {
  const TempFolder folder;
  const auto file = folder.path() / "sub" / "found.json";
  std::filesystem::create_directory(file.parent_path());
  const ModelShape shape = small_shape(1, 1, 1, 32);
  const auto method =
      make("minference:patterns=search,search_at=90,dense_below=0,save=" + file.string(), shape);
  MethodRun run(shape, *method, DType::F32, 100);
  run.record.observer = [&](const LayerStep&, std::span<const AttendTask>) {
    std::filesystem::remove_all(file.parent_path());
  };
  testing::internal::CaptureStderr();
  EXPECT_NO_THROW(run.prompt(95, 40));
  EXPECT_TRUE(has(testing::internal::GetCapturedStderr(),
                  {"warning: --attention minference: save=" + file.string(), "cannot be written"}));
}

TEST(MInference, APromptTooShortForTheSearchIsTold) {
  const TempFolder folder;
  const auto file = folder.path() / "found.json";
  const ModelShape shape = small_shape(1, 1, 1, 32);
  const std::string search = "minference:patterns=search,search_at=90,dense_below=0";
  const auto told = [&](const std::string& options, int64_t tokens) {
    const auto method = make(search + options, shape);
    MethodRun run(shape, *method, DType::F32, tokens + 2);
    testing::internal::CaptureStderr();
    run.prompt(tokens, 40);
    run.decode(2);
    return testing::internal::GetCapturedStderr();
  };
  const std::string save = ",save=" + file.string();
  const std::string short_of = told(save, 89);
  EXPECT_TRUE(has(short_of, {"warning: ", file.string(), "not written", "search_at=90"}));
  EXPECT_EQ(short_of.find('\n'), short_of.size() - 1);  // the warning appears once
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(told("", 89), "");
  EXPECT_EQ(told(save, 90), "");
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST(MInference, ASearchFindsThePatternThatCatchesMost) {
  const TempFolder folder;
  const auto file = folder.path() / "found.json";
  const ModelShape shape = small_shape(2, 1, 2, 32);
  const std::string options =
      "minference:patterns=search,search_at=1300,dense_below=0,vertical=60,"
      "slash=100,save=" +
      file.string();
  const auto method = make(options, shape);
  MethodRun run(shape, *method, DType::F32, 1500);
  run.prompt(1400, 128);
  const HeadPatterns found = read_patterns(file, 2, 2);
  for (const auto& layer : found) {
    for (const HeadPattern& p : layer) {
      EXPECT_EQ(p.vertical, 30);  // the first candidate that covers these 1,400 tokens
      EXPECT_EQ(p.slash, 800);
      EXPECT_NEAR(p.score, 1, 1e-5);
    }
  }
  // The pass of the search is dense. The next prompt uses the result.
  const SparseOracle oracle(run, 1);
  const auto dense = oracle.attention([](int, int64_t, int64_t) { return true; });
  double largest = 0;
  for (size_t e = 1300 * 64; e < 1400 * 64; ++e) {
    largest = std::max(largest, std::abs(run.out[1][e] - dense[e]));
  }
  EXPECT_LT(largest, 3e-5);
  const auto again = make("minference:dense_below=0,patterns=" + file.string(), shape);
  MethodRun other(shape, *again, DType::F32, 1500);
  run.prompt(100, 128);
  other.prompt(1400, 128);
  other.prompt(100, 128);
  EXPECT_TRUE(std::equal(run.out[0].begin() + 1400 * 64, run.out[0].end(),
                         other.out[0].begin() + 1400 * 64));
}

}  // namespace
}  // namespace longhaul
