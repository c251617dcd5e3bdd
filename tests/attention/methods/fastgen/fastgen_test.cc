#include <gtest/gtest.h>

#include <set>

#include "attention/eviction_oracle.h"
#include "attention/method_spec.h"
#include "attention/through_file.h"
#include "base/error.h"

namespace longhaul {
namespace {

using namespace testing_support;

constexpr double kHeavyShare = 0.2, kWindowShare = 0.25;
constexpr int64_t kGlobal = 2;

/// A model in which token 0 is special and tokens 1 and 2 are punctuation.
ModelShape shape_of(int group) {
  ModelShape shape = small_shape(2, 2, group, 32);
  std::vector<TokenClass> classes(40, TokenClass::kOther);
  classes[0] = TokenClass::kSpecial;
  classes[1] = classes[2] = TokenClass::kPunctuation;
  shape.token_classes = std::make_shared<std::vector<TokenClass>>(classes);
  return shape;
}

std::unique_ptr<AttentionDriver> make_fastgen(const ModelShape& shape, double threshold) {
  return MethodSpec::parse(
             fmt::format("fastgen:heavy=0.2,window=0.25,global=2,threshold={}", threshold))
      .make(shape);
}

void name_tokens(MethodRun& run) {
  std::mt19937 random(5);
  for (size_t i = 0; i < run.inputs[0].q.size(); ++i) {
    run.ids.push_back(static_cast<int32_t>(random() % 20));
  }
}

/// docs/methods/fastgen.md as loops over one KV head, in double precision.
struct HeadByDefinition {
  const MethodRun& run;
  int layer, head;
  int64_t begin = 0;              ///< the prompt's first token
  std::vector<PlacedToken> held;  ///< in order
  /// Attention that a token received from all rows and query heads since `begin`.
  std::map<int64_t, double> paid = {};
  int rule = 4;

  TokenClass known(int64_t token) const {
    return (*run.shape.token_classes)[static_cast<size_t>(run.ids[static_cast<size_t>(token)])];
  }

  std::set<int64_t> named(int by, int64_t tokens) const {
    std::set<int64_t> kept;
    std::vector<std::pair<double, int64_t>> others;
    for (const auto& [token, position] : held) {
      const bool plain = token >= kGlobal && known(token) != TokenClass::kSpecial &&
                         !(by >= 1 && known(token) == TokenClass::kPunctuation);
      if (!plain) kept.insert(token);
      const double rows = static_cast<double>(tokens - std::max(token, begin));
      if (plain) others.push_back({-paid.at(token) / rows, token});
    }
    std::sort(others.begin(), others.end());
    const size_t heavy = static_cast<size_t>(std::ceil(kHeavyShare * static_cast<double>(tokens)));
    for (size_t i = 0; i < std::min(heavy, others.size()) && by >= 2; ++i) {
      kept.insert(others[i].second);
    }
    return kept;
  }

  void keep(int64_t tokens) {
    if (rule == 4) return;
    const std::set<int64_t> kept = named(rule, tokens);
    const size_t window = static_cast<size_t>(kWindowShare * static_cast<double>(tokens));
    std::vector<PlacedToken> left;
    for (size_t i = 0; i < held.size(); ++i) {
      const bool recent = rule == 3 && i + window >= held.size();
      if (recent || kept.count(held[i].token)) left.push_back(held[i]);
    }
    held = left;
  }

  /// Row `token` sees the held tokens and itself. Returns its heads' attention by place in the
  /// list.
  std::vector<double> read(int64_t token) {
    held.push_back({token, token});
    paid[token] += 0;
    std::vector<double> sum(held.size());
    const int group = run.shape.heads / run.shape.kv_heads[0];
    for (int g = 0; g < group; ++g) {
      const auto p = probabilities(run.shape, layer, run.inputs[static_cast<size_t>(layer)],
                                   head * group + g, {token, token}, held);
      for (size_t i = 0; i < p.size(); ++i) {
        sum[i] += p[i] / group;
        paid[held[i].token] += p[i] / group;
      }
    }
    return sum;
  }

  void prompt(int64_t count, double threshold) {
    begin = held.empty() ? 0 : held.back().token + 1;
    begin = std::max(begin, next);
    for (auto& [token, sum] : paid) sum = 0;
    const int64_t tokens = begin + count;
    const size_t window = static_cast<size_t>(kWindowShare * static_cast<double>(tokens));
    std::vector<std::vector<double>> maps;
    for (int64_t i = begin; i < tokens; ++i) maps.push_back(read(i));
    rule = 4;
    for (int by = 3; by >= 0; --by) {
      const std::set<int64_t> kept = named(by, tokens);
      double mass = 0;
      for (const auto& map : maps) {
        for (size_t j = 0; j < map.size(); ++j) {
          const bool recent = by == 3 && j + window >= map.size();
          if (recent || kept.count(held[j].token)) mass += map[j];
        }
      }
      if (mass / static_cast<double>(count) >= threshold) rule = by;
    }
    keep(tokens);
    next = tokens;
  }

  void generate(int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      read(next++);
      keep(next);
    }
  }

  int64_t next = 0;

  std::vector<int64_t> tokens() const {
    std::vector<int64_t> all;
    for (const PlacedToken& token : held) all.push_back(token.token);
    return all;
  }
};

TEST(FastGen, EveryHeadKeepsWhatTheDefinitionKeeps) {
  std::set<int> rules;
  for (const int group : {1, 2, 3, 8}) {
    for (const double threshold : {0.0, 0.15, 0.35, 0.47, 0.56, 0.7, 1.5}) {
      SCOPED_TRACE(testing::Message() << "group " << group << " threshold " << threshold);
      const ModelShape shape = shape_of(group);
      const auto method = make_fastgen(shape, threshold);
      MethodRun run(shape, *method, DType::F32, 130);
      name_tokens(run);
      run.prompt(80, 33);
      std::vector<HeadByDefinition> want;
      for (int layer = 0; layer < 2; ++layer) {
        for (int head = 0; head < 2; ++head) {
          want.push_back({run, layer, head, 0, {}});
          want.back().prompt(80, threshold);
          rules.insert(want.back().rule);
          EXPECT_EQ(tokens_of(run.store, layer, head), want.back().tokens());
        }
      }
      run.decode(12);
      run.prompt(21, 8);
      run.decode(3);
      for (HeadByDefinition& head : want) {
        head.generate(12);
        head.prompt(21, threshold);
        head.generate(3);
        EXPECT_EQ(tokens_of(run.store, head.layer, head.head), head.tokens()) << head.rule;
      }
    }
  }
  EXPECT_EQ(rules, (std::set<int>{0, 1, 2, 3, 4}));
}

TEST(FastGen, ThresholdZeroKeepsSpecialTokensAloneAndAboveOneKeepsAll) {
  const ModelShape shape = shape_of(2);
  for (const double threshold : {0.0, 1.01}) {
    const auto method = make_fastgen(shape, threshold);
    MethodRun run(shape, *method, DType::BF16, 300);
    name_tokens(run);
    run.prompt(300, 128);
    int64_t special = kGlobal;
    for (int64_t i = kGlobal; i < 300; ++i) special += run.ids[static_cast<size_t>(i)] == 0;
    for (int layer = 0; layer < 2; ++layer) {
      for (int head = 0; head < 2; ++head) {
        EXPECT_EQ(run.store.length(layer, head), threshold > 1 ? 300 : special);
      }
    }
  }
}

TEST(FastGen, AHeadThatKeepsLessHoldsLessMemory) {
  const ModelShape shape = shape_of(2);
  const auto lean = make_fastgen(shape, 0), full = make_fastgen(shape, 2);
  MethodRun few(shape, *lean, DType::BF16, 1000), all(shape, *full, DType::BF16, 1000);
  name_tokens(few);
  few.prompt(1000, 256);
  all.prompt(1000, 256);
  EXPECT_LT(few.store.bytes() * 4, all.store.bytes());
}

TEST(FastGen, GoesOnAfterSavingAndRestoring) {
  const ModelShape shape = shape_of(3);
  const auto method = make_fastgen(shape, 0.5);
  MethodRun run(shape, *method, DType::F32, 120);
  name_tokens(run);
  run.prompt(80, 40);
  run.decode(2);
  const auto restored = make_fastgen(shape, 0.5);
  MethodRun next(shape, *restored, DType::F32, 120);
  move_through_file(run, next);
  for (MethodRun* each : {&run, &next}) {
    each->decode(9);
    each->prompt(20, 7);
    each->decode(3);
  }
  for (int head = 0; head < 2; ++head) {
    EXPECT_EQ(tokens_of(next.store, 1, head), tokens_of(run.store, 1, head));
  }
  const auto tail = [](const MethodRun& r) {
    return std::vector<float>(r.out[1].begin() + 82 * r.shape.heads * 32,
                              r.out[1].begin() + 114 * r.shape.heads * 32);
  };
  EXPECT_EQ(tail(next), tail(run));
}

TEST(FastGen, RefusesOptionsOutOfRange) {
  for (const char* spec : {"fastgen:threshold=3", "fastgen:heavy=1.1", "fastgen:window=-0.1"}) {
    EXPECT_THROW(MethodSpec::parse(spec), UserError) << spec;
  }
}

}  // namespace
}  // namespace longhaul
