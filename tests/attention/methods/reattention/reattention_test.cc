#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "attention/attention_by_distance.h"
#include "attention/methods/reattention/reattention_regions.h"
#include "attention/methods/reattention/votes.h"
#include "base/error.h"

namespace longhaul {
namespace {

using testing_support::expect_by_distance;
using testing_support::LayerInputs;
using testing_support::MethodRun;
using testing_support::small_shape;

TEST(ReattentionRegions, AreThoseOfTheSpecification) {
  const ReattentionRegions regions;  // 32 + 4096
  EXPECT_EQ(regions.middle_at(4128), 0);
  const std::map<int64_t, std::pair<int64_t, int64_t>> want = {{4129, {3969, 128}},
                                                               {4200, {4040, 128}},
                                                               {5000, {4072, 896}},
                                                               {8192, {4064, 4096}},
                                                               {10000, {4080, 5888}}};
  for (const auto& [tokens, sizes] : want) {
    EXPECT_EQ(regions.local_at(tokens), sizes.first) << tokens;
    EXPECT_EQ(regions.middle_at(tokens), sizes.second) << tokens;
  }
  for (int64_t tokens = 4129; tokens < 5000; ++tokens) {
    EXPECT_EQ(regions.middle_at(tokens) % 128, 0);
    EXPECT_EQ(regions.middle_at(tokens) + regions.local_at(tokens) + 32, tokens);
    EXPECT_GE(regions.local_at(tokens), regions.least_local());
    EXPECT_LT(regions.local_at(tokens), 4096);
  }
  const ReattentionRegions exact{32, 4096, false};
  EXPECT_EQ(exact.local_at(4129), 4096);
  EXPECT_EQ(exact.middle_at(4129), 1);
}

TEST(ReattentionRegions, TheFirstPassesLeaveWholeTiles) {
  const ReattentionRegions regions;
  EXPECT_EQ(regions.dense_tokens(5000), 4103);
  EXPECT_EQ(regions.dense_tokens(10000), 4111);
  EXPECT_EQ(regions.dense_tokens(100001), 4000);
  EXPECT_EQ(regions.dense_tokens(4129), 4128);
  EXPECT_EQ(regions.dense_tokens(1), 0);
}

std::vector<int32_t> counting(int32_t first, int32_t last) {
  std::vector<int32_t> all(static_cast<size_t>(last - first + 1));
  std::iota(all.begin(), all.end(), first);
  return all;
}

TEST(ReattentionSpans, AreClampedToTheMiddleAndMerged) {
  const auto expanded = [](std::vector<int32_t> chosen, int64_t span, int64_t first) {
    SpanRows memory;
    const RowList list{std::span<const int32_t>(chosen), {}};
    const auto rows = host_rows(expand_spans(host_queue(), list, span, 1000, first, memory));
    return std::vector<int32_t>(rows.begin(), rows.end());
  };
  const auto spans = [&](std::vector<int32_t> chosen) {
    return expanded(std::move(chosen), 32, 0);
  };
  EXPECT_EQ(spans({0}), counting(0, 15));
  EXPECT_EQ(spans({40}), counting(24, 55));
  EXPECT_EQ(spans({999}), counting(983, 999));  // middle - 17 .. middle - 1
  EXPECT_EQ(spans({0, 10}), counting(0, 25));
  EXPECT_EQ(expanded({40}, 32, 7), counting(31, 62));
  EXPECT_EQ(expanded({40, 42}, 1, 0), (std::vector<int32_t>{40, 42}));
  EXPECT_TRUE(spans({}).empty());
}

TEST(Reattention, ReadsTheDenseTokensThenWholeChunksThenTheLastToken) {
  const auto counts = [](const PromptFacts& prompt, const char* spec = "reattention") {
    const auto method = MethodSpec::parse(spec).make(small_shape(1, 1, 1, 32));
    std::vector<int64_t> all;
    int64_t at = 0;
    for (const Pass& pass : method->prepare(prompt)) {
      EXPECT_EQ(pass.begin, at);
      at += pass.count;
      all.push_back(pass.count);
    }
    EXPECT_EQ(at, prompt.tokens);
    return all;
  };
  using Counts = std::vector<int64_t>;
  const char* small = "reattention:global=32,local=1024,clip=8";
  EXPECT_EQ(counts({0, 1, 0, 1024}), (Counts{1}));
  EXPECT_EQ(counts({0, 2000, 0, 8192}), (Counts{1999, 1}));
  EXPECT_EQ(counts({0, 2000, 0, 1024}), (Counts{1024, 975, 1}));
  // mod' = (1999 - 32 + 1024) mod 128 = 47. First 1056 - 81 = 975 tokens, then 1024 = 8 tiles.
  EXPECT_EQ(counts({0, 2000, 0, 8192}, small), (Counts{975, 1024, 1}));  // two chunks per pass
  EXPECT_EQ(counts({0, 2000, 0, 1000}, small), (Counts{975, 512, 512, 1}));
  EXPECT_EQ(counts({0, 2000, 0, 300}, small), (Counts{300, 300, 300, 75, 300, 300, 300, 124, 1}));
  EXPECT_EQ(counts({1900, 100, 0, 1024}, small), (Counts{99, 1}));
  EXPECT_EQ(counts({100, 1900, 0, 8192}, small), (Counts{875, 1024, 1}));
}

struct Rules {
  int64_t global, local, span, clip;
  int k;
  bool repo = true, tiles = true, original = false, mispaired = false;
  enum { kAlways, kPrefill, kDecode } recall = kAlways;
};

/// docs/methods/reattention.md in plain loops and double precision: the tokens that rows [begin,
/// begin + rows) see, in order, including those of the pass itself.
std::vector<int64_t> visible_by_definition(const ModelShape& shape, int layer,
                                           const LayerInputs& in, int64_t begin, int64_t rows,
                                           const Rules& rules) {
  const int64_t n = begin + rows;
  std::vector<int64_t> list;
  int64_t local = rules.local;
  if (n <= rules.global + rules.local)
    local = n;
  else if (rules.repo)
    local -= 128 - (n - rules.global - rules.local) % 128;
  const int64_t global = std::min(rules.global, n - local), middle = n - local - global;
  std::set<int64_t> seen;
  for (int64_t j = 0; j < global; ++j) seen.insert(j);
  for (int64_t j = n - local; j < n; ++j) seen.insert(j);
  const bool decode = rows == 1;
  const bool recalls = rules.recall == Rules::kAlways || (rules.recall == Rules::kDecode) == decode;
  std::map<int64_t, int> votes;
  const int kv_heads = shape.kv_heads[static_cast<size_t>(layer)], dim = shape.head_dim;
  for (int64_t i = begin; i < n && recalls; ++i) {
    for (int h = 0; h < shape.heads; ++h) {
      const bool wrong = rules.mispaired && (decode || (rules.k != 1 && rules.k != 4));
      const int kv = wrong ? h % kv_heads : h / (shape.heads / kv_heads);
      std::vector<std::pair<double, int64_t>> best;
      for (int64_t j = 0; j < middle; ++j) {
        double dot = 0;
        for (int t = 0; t < dim; ++t) {
          dot += static_cast<double>(in.q[static_cast<size_t>((i * shape.heads + h) * dim + t)]) *
                 in.k[static_cast<size_t>(((global + j) * kv_heads + kv) * dim + t)];
        }
        const std::pair<double, int64_t> key{-dot, j};
        const bool same_tile = !decode && rules.tiles && j % 128 != 0;
        if (!same_tile) best.push_back(key);
        if (same_tile) best.back() = std::min(best.back(), key);
      }
      std::sort(best.begin(), best.end());
      for (size_t c = 0; c < std::min(best.size(), static_cast<size_t>(rules.k)); ++c) {
        ++votes[best[c].second];
      }
    }
  }
  std::vector<std::pair<int, int64_t>> order;
  for (const auto& [j, count] : votes) order.push_back({-count, j});
  std::sort(order.begin(), order.end());
  for (size_t c = 0; c < std::min(order.size(), static_cast<size_t>(rules.clip)); ++c) {
    for (int64_t off = -(rules.span / 2); off < rules.span - rules.span / 2; ++off) {
      const int64_t j = order[c].second + off;
      if (j >= 0 && j < middle) seen.insert(global + j);
    }
  }
  return {seen.begin(), seen.end()};
}

/// Checks all outputs of `run`, which had chunks of `counts` rows and then single rows.
void expect_definition(const MethodRun& run, const std::vector<int64_t>& counts,
                       const Rules& rules) {
  struct Seen {
    int64_t begin, rows;
    std::map<int64_t, int64_t> place;  // place of a token in the list
  };
  std::vector<std::vector<Seen>> pass_of(static_cast<size_t>(run.shape.layers));
  for (int layer = 0; layer < run.shape.layers; ++layer) {
    const size_t l = static_cast<size_t>(layer);
    int64_t begin = 0;
    for (size_t p = 0; begin < run.done; ++p) {
      const int64_t rows = p < counts.size() ? counts[p] : 1;
      const auto list = visible_by_definition(run.shape, layer, run.inputs[l], begin, rows, rules);
      Seen seen{begin, rows, {}};
      for (size_t at = 0; at < list.size(); ++at) seen.place[list[at]] = static_cast<int64_t>(at);
      pass_of[l].insert(pass_of[l].end(), static_cast<size_t>(rows), seen);
      begin += rows;
    }
  }
  expect_by_distance(run, [&](int layer, int, int64_t i, int64_t j) -> std::optional<int64_t> {
    const Seen& seen = pass_of[static_cast<size_t>(layer)][static_cast<size_t>(i)];
    const auto at = seen.place.find(j);
    if (at == seen.place.end()) return std::nullopt;
    if (rules.original) return i - j;
    const int64_t row = static_cast<int64_t>(seen.place.size()) - seen.rows + i - seen.begin;
    return row - at->second;
  });
}

/// Rows of a prompt that vote together, at most `chunk` at a time, in passes of at most `cap` rows.
std::vector<int64_t> counts_of(AttentionDriver& method, int64_t begin, int64_t tokens, int cap,
                               int64_t chunk) {
  std::vector<int64_t> counts;
  for (const Pass& pass : method.prepare({begin, tokens, 0, cap})) {
    for (int64_t row = 0; row < pass.count; row += chunk) {
      counts.push_back(std::min(chunk, pass.count - row));
    }
  }
  return counts;
}

void check(const std::string& options, const Rules& rules, int group, int64_t tokens, int64_t chunk,
           int cap = 1024, int head_dim = 16) {
  SCOPED_TRACE(options + " group " + std::to_string(group));
  const ModelShape shape = small_shape(2, 2, group, head_dim);
  const auto method =
      MethodSpec::parse("reattention:" + options + ",chunk=" + std::to_string(chunk)).make(shape);
  MethodRun run(shape, *method, DType::F32, tokens + 7);
  const auto counts = counts_of(*method, 0, tokens, cap, chunk);
  run.prompt(tokens, cap);
  run.decode(7);
  expect_definition(run, counts, rules);
}

TEST(Reattention, IsTheDefinitionInPaperModeForEveryGroupSize) {
  for (const int group : {1, 2, 3, 8}) {
    check("fidelity=paper,global=4,local=30,k=4,span=3,clip=6", {4, 30, 3, 6, 4, false}, group, 201,
          17);
  }
}

TEST(Reattention, IsTheDefinitionInRepoMode) {
  check("global=5,local=256,k=4,span=8,clip=9", {5, 256, 8, 9, 4}, 3, 700, 100);
  check("global=5,local=256,k=2,span=8,clip=9,prefill_topk=exact", {5, 256, 8, 9, 2, true, false},
        2, 640, 128);
}

TEST(Reattention, TheChunkFlagCapsChunksAndSaysHowManyAPassHas) {
  const Rules rules{4, 40, 4, 3, 1, false};
  for (const int cap : {9, 32, 63, 64, 100, 1000}) {
    check("fidelity=paper,global=4,local=40,k=1,span=4,clip=3", rules, 2, 150, 32, cap);
  }
  // The last chunk of a pass may be a single row, which votes by its exact best keys.
  check("fidelity=paper,global=4,local=40,k=3,span=4,clip=3", {4, 40, 4, 3, 3, false}, 2,
        44 + 2 * 32 + 1 + 1, 32);
  check("fidelity=paper,global=0,local=1,k=3,span=1,clip=5", {0, 1, 1, 5, 3, false}, 2, 40, 1, 1);
  check("fidelity=paper,global=0,local=1,k=3,span=1,clip=5", {0, 1, 1, 5, 3, false}, 2, 40, 1, 7);
}

TEST(Reattention, VariantsAreTheDefinitionToo) {
  const std::string base = "fidelity=paper,global=4,local=30,k=3,span=5,clip=6";
  Rules rules{4, 30, 5, 6, 3, false};
  rules.original = true;
  check(base + ",positions=original", rules, 2, 140, 16);
  rules.original = false;
  rules.mispaired = true;
  check(base + ",bug_compat=true", rules, 3, 140, 16);
  check("fidelity=paper,global=4,local=30,k=4,span=5,clip=6,bug_compat=true",
        {4, 30, 5, 6, 4, false, true, false, true}, 3, 140, 16);
  rules.mispaired = false;
  rules.recall = Rules::kPrefill;
  check(base + ",recall=prefill", rules, 2, 140, 16);
  rules.recall = Rules::kDecode;
  check(base + ",recall=decode", rules, 2, 140, 16);
}

TEST(Reattention, ASecondPromptGoesOnWhereTheFirstEnded) {
  const ModelShape shape = small_shape(2, 2, 2, 16);
  const auto method =
      MethodSpec::parse("reattention:fidelity=paper,global=4,local=30,span=3,clip=6,chunk=16")
          .make(shape);
  MethodRun run(shape, *method, DType::F32, 200);
  std::vector<int64_t> counts;
  for (const int64_t tokens : {20, 50, 1, 77}) {
    const auto more = counts_of(*method, run.done, tokens, 12, 16);
    counts.insert(counts.end(), more.begin(), more.end());
    run.prompt(tokens, 12);
    run.decode(3);
    counts.insert(counts.end(), 3, 1);
  }
  expect_definition(run, counts, {4, 30, 3, 6, 4, false});
}

TEST(Reattention, SpansThatCoverTheMiddleAreDense) {
  const ModelShape shape = small_shape(2, 2, 3, 16);
  const auto method =
      MethodSpec::parse("reattention:global=3,local=256,chunk=128,span=300,clip=1000,k=8")
          .make(shape);
  MethodRun run(shape, *method, DType::F32, 510);
  run.prompt(500, 200);
  run.decode(10);
  expect_by_distance(run, [](int, int, int64_t i, int64_t j) { return std::optional(i - j); });
}

TEST(Reattention, AKeyThatStandsOutIsSeen) {
  const ModelShape shape = small_shape(1, 1, 2, 16);
  const auto method =
      MethodSpec::parse("reattention:fidelity=paper,global=2,local=20,k=1,span=4,clip=1,chunk=10")
          .make(shape);
  MethodRun run(shape, *method, DType::F32, 120);
  auto& in = run.inputs[0];
  // Queries of both heads in the last rows equal the key of token 57.
  for (int64_t i = 100; i < 120; ++i) {
    for (int t = 0; t < 32; ++t) in.q[static_cast<size_t>(i * 32 + t)] = in.k[57 * 16 + t % 16];
  }
  for (int t = 0; t < 16; ++t) in.k[57 * 16 + static_cast<size_t>(t)] *= 10;
  run.prompt(119, 64);
  run.decode(1);
  const auto seen = visible_by_definition(shape, 0, in, 119, 1, {2, 20, 4, 1, 1, false});
  EXPECT_EQ(seen.size(), 2u + 4 + 20);
  for (const int64_t j : {55, 56, 57, 58}) {
    EXPECT_TRUE(std::binary_search(seen.begin(), seen.end(), j)) << j;
  }
  expect_definition(run, counts_of(*method, 0, 119, 64, 10), {2, 20, 4, 1, 1, false});
}

TEST(Reattention, RefusesOptionsThatDoNotFit) {
  const ModelShape shape = small_shape(1, 1, 2, 32);
  const auto refusal = [&](const std::string& spec, int64_t tokens = 0) -> std::string {
    try {
      const auto method = MethodSpec::parse(spec).make(shape);
      if (tokens > 0) method->prepare({0, tokens, 0, 512});
    } catch (const UserError& e) {
      return e.what();
    }
    return {};
  };
  EXPECT_NE(refusal("reattention:local=1000").find("multiple of 128"), std::string::npos);
  EXPECT_EQ(refusal("reattention:local=1000,fidelity=paper"), "");
  EXPECT_NE(refusal("reattention:local=512")
                .find("chunk=512: must be within the local part, at "
                      "most 384"),
            std::string::npos);
  EXPECT_NE(refusal("reattention:k=9").find("8"), std::string::npos);
  EXPECT_NE(refusal("reattention:span=0").find("span"), std::string::npos);
  // The model was trained for 4096 tokens, and the defaults make 8192 keys visible.
  EXPECT_EQ(refusal("reattention", 4096), "");
  EXPECT_NE(refusal("reattention", 4097).find("8192 visible keys"), std::string::npos);
  EXPECT_NE(refusal("reattention", 4097).find("; local=2048,clip=63 fits, and"), std::string::npos);
  EXPECT_EQ(refusal("reattention:local=2048,clip=63", 100000), "");
  EXPECT_NE(refusal("reattention:span=5000,clip=1", 5000).find("smaller global, span"),
            std::string::npos);
  EXPECT_EQ(refusal("reattention:clip=31,local=1024", 100000), "");
}

TEST(Reattention, GoesOnWithoutBoundAsLongAsTheListFitsTheTrainedWindow) {
  const ModelShape shape = small_shape(1, 1, 2, 32);
  const auto reach = [&](const char* spec) {
    return MethodSpec::parse(spec).make(shape)->reach(20000, 1024);
  };
  EXPECT_EQ(reach("reattention:clip=31,local=1024"), 2048);
  EXPECT_EQ(reach("reattention"), 8192);
  EXPECT_EQ(reach("reattention:clip=31,local=1024,positions=original"), 20000);
}

TEST(Reattention, CanGoBackAsLongAsEverythingWasSeen) {
  const ModelShape shape = small_shape(1, 1, 2, 16);
  const auto method =
      MethodSpec::parse("reattention:fidelity=paper,global=2,local=20,chunk=8").make(shape);
  MethodRun run(shape, *method, DType::F32, 60);
  run.prompt(22, 64);
  EXPECT_TRUE(method->can_rewind());
  run.decode(1);
  EXPECT_FALSE(method->can_rewind());
}

}  // namespace
}  // namespace longhaul
