#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "attention/eviction_oracle.h"
#include "base/error.h"

namespace longhaul {
namespace {

using namespace testing_support;

struct Settings {
  const char* cache = "individual";
  int64_t k = 30, chunk = 16, sink = 0;
  bool paper = false;
  bool all_sums = false;  ///< sums accumulate from the time a row was read

  std::unique_ptr<AttentionDriver> make(const ModelShape& shape) const {
    return MethodSpec::parse(
               fmt::format("citrus:cache={},k={},chunk={},sink={},fidelity={},sums={}", cache, k,
                           chunk, sink, paper ? "paper" : "repo", all_sums ? "all" : "last"))
        .make(shape);
  }
};

/// The three caches of docs/methods/citrus.md for one layer in double precision: lists of tokens,
/// and the attention output of every row of the prompt.
class ByDefinition {
 public:
  ByDefinition(const Settings& settings, const MethodRun& run, int layer)
      : o_(settings), run_(run), layer_(static_cast<size_t>(layer)) {
    out.resize(run.out[layer_].size(), NAN);
  }

  void prompt(int64_t tokens, int64_t instruction) {
    const int64_t document = done_ + tokens - instruction, end = done_ + tokens;
    const std::string cache = o_.cache;
    std::vector<int64_t> context = list;  // the list used to read the document
    Totals context_totals = totals_;
    while (done_ < document) {
      const int64_t chunk_end = std::min(done_ + o_.chunk, document);
      std::vector<double> by_instruction;
      if (cache != "standard") by_instruction = importance(document, end, list);
      if (cache == "shared" && o_.paper) cut(list, by_instruction, totals_);
      if (cache != "individual") context = list, context_totals = totals_;
      const std::vector<double> by_chunk = importance(done_, chunk_end, context);
      attend(done_, chunk_end, context);
      cut(context, by_chunk, context_totals);
      if (!(cache == "shared" && o_.paper)) {
        cut(list, cache == "standard" ? by_chunk : by_instruction, totals_);
      }
      for (; done_ < chunk_end; ++done_) {
        context.push_back(done_);
        list.push_back(done_);
      }
    }
    cut(list, importance(document, end, list), totals_);
    attend(document, end, list);
    for (; done_ < end; ++done_) list.push_back(done_);
  }

  void decode(int64_t tokens) {
    for (int64_t i = 0; i < tokens; ++i, ++done_) {
      attend(done_, done_ + 1, list);
      list.push_back(done_);
    }
  }

  std::vector<int64_t> list;
  std::vector<double> out;  ///< [tokens, heads, head_dim]

 private:
  /// Tokens [begin, end) after those of a list, each at its index.
  static std::vector<PlacedToken> placed(const std::vector<int64_t>& before, int64_t begin,
                                         int64_t end) {
    std::vector<PlacedToken> keys;
    for (const int64_t token : before) keys.push_back({token, std::ssize(keys)});
    for (int64_t token = begin; token < end; ++token) keys.push_back({token, std::ssize(keys)});
    return keys;
  }

  std::vector<double> importance(int64_t begin, int64_t end, const std::vector<int64_t>& before) {
    std::vector<double> sums(before.size());
    for (int64_t row = begin; row < end; ++row) {
      const auto keys = placed(before, begin, row + 1);
      for (int head = 0; head < run_.shape.heads; ++head) {
        const auto p = probabilities(run_.shape, static_cast<int>(layer_), run_.inputs[layer_],
                                     head, keys.back(), keys);
        double all = 0;
        for (size_t j = 0; j < before.size(); ++j) all += p[j];
        for (size_t j = 0; j < before.size(); ++j) sums[j] += o_.paper ? p[j] / all : p[j];
      }
    }
    return sums;
  }

  /// Attention that tokens received in the evictions so far, if it counts. It is empty until a list
  /// is too long.
  using Totals = std::map<int64_t, double>;

  void cut(std::vector<int64_t>& rows, std::vector<double> sums, Totals& totals) const {
    for (size_t i = 0; i < sums.size() && o_.all_sums && std::ssize(rows) > o_.k; ++i) {
      sums[i] = totals[rows[i]] += sums[i];
    }
    for (int64_t i = 0; i < std::min<int64_t>(o_.sink, std::ssize(sums)); ++i) {
      sums[static_cast<size_t>(i)] = INFINITY;
    }
    std::vector<int64_t> kept;
    for (const int64_t i : best_by_definition(sums, o_.k)) {
      kept.push_back(rows[static_cast<size_t>(i)]);
    }
    rows = kept;
  }

  void attend(int64_t begin, int64_t end, const std::vector<int64_t>& before) {
    const ModelShape& shape = run_.shape;
    const int kv_heads = shape.kv_heads[layer_], group = shape.heads / kv_heads;
    for (int64_t row = begin; row < end; ++row) {
      const auto keys = placed(before, begin, row + 1);
      for (int head = 0; head < shape.heads; ++head) {
        const auto p = probabilities(shape, static_cast<int>(layer_), run_.inputs[layer_], head,
                                     keys.back(), keys);
        for (int t = 0; t < shape.head_dim; ++t) {
          double sum = 0;
          for (size_t j = 0; j < keys.size(); ++j) {
            const int64_t v = keys[j].token * kv_heads + head / group;
            sum += p[j] * run_.inputs[layer_].v[static_cast<size_t>(v * shape.head_dim + t)];
          }
          out[static_cast<size_t>((row * shape.heads + head) * shape.head_dim + t)] = sum;
        }
      }
    }
  }

  const Settings& o_;
  const MethodRun& run_;
  size_t layer_;
  int64_t done_ = 0;
  Totals totals_;  ///< totals of `list`
};

/// Two prompts, each followed by generated tokens, compared row by row and list by list.
void expect_definition(const Settings& settings, int group, int cap, int64_t first,
                       int64_t instruction, int64_t second) {
  SCOPED_TRACE(testing::Message() << settings.cache << " paper " << settings.paper << " group "
                                  << group << " cap " << cap << " tokens " << first << " + "
                                  << second << " instruction " << instruction);
  const ModelShape shape = small_shape(2, 2, group, 32);
  const auto method = settings.make(shape);
  MethodRun run(shape, *method, DType::F32, first + second + 5);
  std::vector<ByDefinition> want;
  for (int layer = 0; layer < 2; ++layer) want.emplace_back(settings, run, layer);
  const auto compare = [&] {
    for (int layer = 0; layer < 2; ++layer) {
      const ByDefinition& expected = want[static_cast<size_t>(layer)];
      for (int head = 0; head < 2; ++head) {
        ASSERT_EQ(tokens_of(run.store, layer, head), expected.list) << "layer " << layer;
      }
      for (int64_t i = 0; i < run.done * shape.heads * shape.head_dim; ++i) {
        ASSERT_NEAR(run.out[static_cast<size_t>(layer)][static_cast<size_t>(i)],
                    expected.out[static_cast<size_t>(i)], 3e-5)
            << "layer " << layer << " token " << i / (shape.heads * shape.head_dim);
      }
    }
  };
  for (const int64_t tokens : {first, second}) {
    run.prompt(tokens, cap, std::min(tokens, instruction));
    for (ByDefinition& each : want) each.prompt(tokens, std::min(tokens, instruction));
    compare();
    run.decode(2);
    for (ByDefinition& each : want) each.decode(2);
    compare();
  }
}

TEST(Citrus, IsWhatTheDefinitionSays) {
  for (const char* cache : {"standard", "shared", "individual"}) {
    for (const bool paper : {false, true}) {
      Settings settings;
      settings.cache = cache;
      settings.paper = paper;
      for (const int group : {1, 3}) expect_definition(settings, group, 200, 101, 9, 40);
      settings.sink = 4;
      expect_definition(settings, 2, 200, 90, 11, 11);
    }
  }
}

TEST(Citrus, SumsUpSinceARowWasReadWhereAskedTo) {
  for (const char* cache : {"standard", "shared", "individual"}) {
    Settings settings;
    settings.cache = cache;
    settings.all_sums = true;
    for (const int group : {1, 3}) expect_definition(settings, group, 200, 101, 9, 40);
    settings.sink = 4;
    expect_definition(settings, 2, 5, 90, 11, 11);
  }
}

TEST(Citrus, WhateverTheChunkCapAndTheLengths) {
  for (const char* cache : {"standard", "shared", "individual"}) {
    Settings settings;
    settings.cache = cache;
    for (const int cap : {1, 5, 16}) expect_definition(settings, 2, cap, 75, 7, 30);
    expect_definition(settings, 8, 64, 60, 3, 20);
    expect_definition(settings, 2, 64, 40, 40, 25);  // no document
    expect_definition(settings, 2, 64, 1, 1, 1);
    expect_definition(settings, 2, 64, 12, 2, 5);  // shorter than a chunk
    settings.chunk = 64;                           // longer than k and than the document
    expect_definition(settings, 2, 64, 60, 5, 3);
    settings.chunk = 1;
    expect_definition(settings, 2, 64, 50, 4, 3);
  }
}

TEST(Citrus, HoldsWhatThePaperSays) {
  struct Sizes {
    int64_t k, chunk, document;
    std::vector<int64_t> after;  ///< list length after each chunk
  };
  for (const Sizes& sizes : {Sizes{768, 256, 2048, {256, 512, 768, 1024, 1024, 1024, 1024, 1024}},
                             Sizes{8, 256, 1000, {256, 264, 264, 240}}}) {
    for (const char* cache : {"standard", "shared", "individual"}) {
      const ModelShape shape = small_shape(1, 1, 1, 32);
      Settings settings;
      settings.cache = cache;
      settings.k = sizes.k;
      settings.chunk = sizes.chunk;
      for (size_t chunks = 1; chunks <= sizes.after.size(); ++chunks) {
        const auto method = settings.make(shape);
        MethodRun run(shape, *method, DType::F32, sizes.document + 8);
        run.prompt(sizes.document + 8, 1024, 8, chunks);
        EXPECT_EQ(run.store.length(0, 0), sizes.after[chunks - 1]) << cache;
      }
      const auto method = settings.make(shape);
      MethodRun run(shape, *method, DType::F32, sizes.document + 8);
      run.prompt(sizes.document + 8, 1024, 8);
      EXPECT_EQ(run.store.length(0, 0), sizes.k + 8) << cache;
    }
  }
}

TEST(Citrus, ACoveringBudgetReadsTheInstructionOnce) {
  for (const char* cache : {"standard", "shared", "individual"}) {
    const ModelShape shape = small_shape(1, 1, 1, 32);
    Settings settings;
    settings.cache = cache;
    settings.k = 100;
    const auto passes = settings.make(shape)->prepare({0, 110, 10, 64});
    EXPECT_TRUE(
        std::none_of(passes.begin(), passes.end(), [](const Pass& p) { return p.discard; }));
    EXPECT_EQ(passes.size(), 8u);
  }
}

/// A shared list keeps the rows of a standard list if the instruction equals the chunk's text.
TEST(Citrus, AnInstructionThatIsTheChunkSelectsAsTheChunkDoes) {
  const ModelShape shape = small_shape(2, 2, 2, 32);
  std::vector<std::vector<int64_t>> kept;
  for (const char* cache : {"standard", "shared"}) {
    Settings settings;
    settings.cache = cache;
    settings.k = 40;  // nothing is evicted before the last of the four chunks
    const auto method = settings.make(shape);
    MethodRun run(shape, *method, DType::F32, 80);
    for (LayerInputs& in : run.inputs) {  // tokens 64 .. 79 repeat tokens 48 .. 63
      for (auto* x : {&in.q, &in.k, &in.v}) {
        const auto width = static_cast<std::ptrdiff_t>(x->size() / 80);
        std::copy(x->begin() + 48 * width, x->begin() + 64 * width, x->begin() + 64 * width);
      }
    }
    run.prompt(80, 64, 16, 4);
    kept.push_back(tokens_of(run.store, 1, 0));
    EXPECT_EQ(tokens_of(run.store, 1, 1), kept.back());
    EXPECT_EQ(kept.back().size(), 40u + 16u);
    EXPECT_TRUE(std::is_sorted(kept.back().begin(), kept.back().end()));
  }
  EXPECT_EQ(kept[0], kept[1]);
}

/// Worked by hand: rows P = [.5 .3 .2], [.1 .6 .1] of a list of three; k = 2 keeps rows 0 and 1.
TEST(Citrus, AveragesTheRowsOfAChunk) {
  ModelShape shape = small_shape(1, 1, 1, 32);
  std::fill(shape.rope.inverse_frequency.begin(), shape.rope.inverse_frequency.end(), 0.0);
  Settings settings;
  settings.cache = "standard";
  settings.k = 2;
  settings.chunk = 3;
  const auto method = settings.make(shape);
  MethodRun run(shape, *method, DType::F32, 6);
  LayerInputs& in = run.inputs[0];
  for (auto* x : {&in.q, &in.k}) std::fill(x->begin(), x->end(), 0.0f);
  const double p[2][5] = {{.5, .3, .2, 1e-9, 1}, {.1, .6, .1, .1, .1}};
  for (size_t row = 0; row < 2; ++row) {
    in.q[(3 + row) * 32 + row] = 1 / shape.scale;
    for (size_t key = 0; key < 5; ++key) {
      in.k[key * 32 + row] = static_cast<float>(std::log(p[row][key]));
    }
  }
  run.prompt(6, 64, 1, 2);
  EXPECT_EQ(tokens_of(run.store, 0, 0), (std::vector<int64_t>{0, 1, 3, 4}));
}

TEST(Citrus, LayersWithAWindowHoldIt) {
  ModelShape shape = small_shape(3, 2, 2, 32);
  shape.window = {0, 20, 0};
  for (const char* cache : {"standard", "shared", "individual"}) {
    Settings settings;
    settings.cache = cache;
    const auto method = settings.make(shape);
    MethodRun run(shape, *method, DType::F32, 1100);
    run.prompt(1100, 64, 10);
    EXPECT_EQ(run.store.length(0, 0), 40);
    EXPECT_GE(run.store.length(1, 0), 20);
    EXPECT_LE(run.store.length(1, 0), 20 + 63 + 16 + 10);
    const auto want = attention_by_definition(shape, 1, run.inputs[1], 1100,
                                              [](int64_t i, int64_t j) { return i - j < 20; });
    EXPECT_LT(largest_difference(run.out[1], want), 3e-5) << cache;
  }
}

TEST(Citrus, TheForecastBoundsEveryStream) {
  const ModelShape shape = small_shape(2, 2, 2, 32);
  for (const char* cache : {"standard", "individual"}) {
    Settings settings;
    settings.cache = cache;
    settings.k = 100;
    settings.chunk = 64;
    const auto method = settings.make(shape);
    MethodRun run(shape, *method, DType::F32, 2000);
    const size_t bound = method->most_kv_bytes(run.store.layout(), 2000, 64);
    // A list with the rows that enter it, and a page that the streams do not share.
    const size_t streams = std::string_view(cache) == "individual" ? 2 : 1;
    EXPECT_EQ(bound, streams * run.store.layout().bytes_for(100 + 64 + 512 + 64));
    EXPECT_EQ(bound, method->most_kv_bytes(run.store.layout(), 1 << 20, 64));
    size_t most = 0;
    for (size_t chunks = 1; chunks < 20; ++chunks) {
      const auto fresh = settings.make(shape);
      MethodRun part(shape, *fresh, DType::F32, 2000);
      part.prompt(2000, 64, 30, chunks);
      most = std::max(most, part.store.live_bytes() * static_cast<size_t>(fresh->streams()));
    }
    EXPECT_LE(most, bound);
    run.prompt(2000, 64, 1990);  // the instruction is nearly the whole prompt
    EXPECT_LE(run.most_bytes, bound);
    EXPECT_EQ(run.store.length(0, 0), 100 + 512);
  }
}

/// An instruction that is read at once enters and is evicted layer by layer, so its rows count for
/// one layer.
TEST(Citrus, TheForecastHoldsForManyLayersAndLongInstructions) {
  ModelShape shape = small_shape(8, 1, 2, 32);
  shape.window.back() = 40;
  for (const char* cache : {"standard", "shared", "individual"}) {
    Settings settings;
    settings.cache = cache;
    settings.k = 100;
    settings.chunk = 64;
    const auto method = settings.make(shape);
    MethodRun run(shape, *method, DType::F32, 2600);
    const KvLayout layout = run.store.layout();
    const size_t bound = method->most_kv_bytes(layout, 2600, 1024);
    EXPECT_LT(bound, method->most_kv_bytes(layout, 2600, 64));
    run.prompt(2600, 1024, 512);
    EXPECT_LE(run.most_bytes, bound) << cache;
    EXPECT_GT(run.most_bytes, bound / 2) << cache;
  }
}

/// A repeated instruction may begin a page of its own. 48 tokens in chunks of 16 and an instruction
/// of 14 are one page of rows, but two pages in memory.
TEST(Citrus, TheForecastOfShortContextsCountsPagesOfCopies) {
  const ModelShape shape = small_shape(2, 2, 2, 32);
  Settings settings;
  settings.cache = "shared", settings.k = 30, settings.chunk = 16;
  const auto method = settings.make(shape);
  const KvLayout layout = MethodRun(shape, *method, DType::F32, 62).store.layout();
  EXPECT_EQ(method->most_kv_bytes(layout, 62, 64), layout.bytes_for(62 + 2 * layout.page_rows));
}

TEST(Citrus, RefusesWhatCannotBe) {
  const ModelShape shape = small_shape(1, 1, 1, 32);
  const auto method = Settings().make(shape);
  try {
    method->prepare({0, 100, 0, 64});
    ADD_FAILURE() << "no instruction";
  } catch (const UserError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("--attention citrus"), std::string::npos);
    EXPECT_NE(text.find("-p"), std::string::npos);
    EXPECT_NE(text.find("--instruction"), std::string::npos);
  }
  EXPECT_THROW(MethodSpec::parse("citrus:k=10,sink=11").make(shape), UserError);
  EXPECT_THROW(MethodSpec::parse("citrus:k=0").make(shape), UserError);
  EXPECT_THROW(MethodSpec::parse("citrus:cache=dual").make(shape), UserError);
}

}  // namespace
}  // namespace longhaul
