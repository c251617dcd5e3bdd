// The recipe of docs/architecture.md in practice. A method is its file (the part of this one up to
// `newest_method`), its line in the registry (tested_methods.h) and its page. All suites of this
// folder that use the registry test it; no other code names it.

#include <gtest/gtest.h>

#include <algorithm>

#include "attention/method_run.h"
#include "attention/registry.h"
#include "attention/tested_methods.h"
#include "base/error_of.h"
#include "ops/core/fill.h"

namespace longhaul {
namespace {

/// After a prompt, every head keeps its first rows and its newest rows.
struct Newest final : Method {
  int64_t sink = 4, recent = 2044;
  void declare(OptionList& o) {
    o.integer(sink, "sink", 0, 4096, "tokens", "first rows, never evicted");
    o.integer(recent, "recent", 1, 1 << 24, "tokens", "last rows of a prompt");
  }

  void fit(const ModelShape&) { whole = {.when = When::kPromptEnd, .rewinds = true}; }
  ListPlan plan(int, int, int64_t) const override {
    return {.keep = {.budget = sink + recent, .sink = sink, .recent = recent}};
  }
  /// Scores are equal, since the budget has no room for other rows.
  void choose(const Eviction& due) override {
    for (const View<float>& scores : due.scores) fill(due.queue, scores, 0.0f);
  }
};

}  // namespace

MethodInfo newest_method() {
  MethodInfo info;
  info.name = "newest";
  info.summary = "keeps the first tokens of a prompt and its last";
  info.covers = {"", "sink=0,recent=700"};
  info.small = {{"recent=56"}, {"sink=2,recent=16"}};
  return method_info<Newest>(std::move(info));
}

namespace {

using testing_support::error_of;
using testing_support::MethodRun;
using testing_support::small_shape;

TEST(Recipe, TheMethodKeepsWhatItSays) {
  const ModelShape shape = small_shape(2, 2, 2, 32);
  const auto method = testing_support::make_tested("newest:sink=2,recent=16", shape);
  EXPECT_TRUE(method->forgets());
  EXPECT_EQ(method->prompt_choice(), PromptChoice::kOnceRead);
  EXPECT_EQ(method->dense_prefix({0, 60, 1, 64}), 59);
  EXPECT_TRUE(method->can_rewind());
  MethodRun run(shape, *method, DType::F32, 70);
  run.prompt(60, 25);
  EXPECT_FALSE(method->can_rewind());
  std::vector<int32_t> stay{0, 1};
  for (int32_t token = 44; token < 60; ++token) stay.push_back(token);
  for (const int layer : {0, 1}) {
    for (const int head : {0, 1}) {
      EXPECT_TRUE(std::ranges::equal(host(run.store.tokens(layer, head).listed), stay))
          << layer << " " << head;
    }
  }
}

TEST(Recipe, ItsOptionsAreThoseThatItDeclares) {
  const auto refusal = [](const char* spec) {
    return error_of([&] { MethodSpec::parse(spec, testing_support::tested_methods()); });
  };
  EXPECT_EQ(refusal("newest:recent=0"),
            "--attention newest: recent=0: must be from 1 to 16,777,216 tokens");
  EXPECT_EQ(refusal("newest:window=4"),
            "--attention newest: unknown option 'window' (options: sink, recent)");
}

TEST(Recipe, TheSuitesTryIt) {
  const auto covering = testing_support::covering_settings(testing_support::tested_methods());
  EXPECT_EQ(std::ranges::count(covering, "newest:sink=0,recent=700"), 1);
  int small = 0;
  for (const auto& each : testing_support::small_settings(testing_support::tested_methods())) {
    small += each.spec.starts_with("newest:") ? 1 : 0;
  }
  EXPECT_EQ(small, 2);
}

TEST(Settings, AreOfOneKindWhereOnlyNumbersDiffer) {
  using testing_support::kind_of;
  EXPECT_EQ(kind_of("h2o"), "h2o ");
  EXPECT_EQ(kind_of("h2o:budget=60,stride=20"), "h2o ");
  EXPECT_EQ(kind_of("h2o:mode=oneshot,budget=60"), "h2o mode=oneshot ");
  EXPECT_EQ(kind_of("adakv:method_options=capacity=60+window=8"), "adakv ");
  EXPECT_EQ(kind_of("adakv:method=keydiff,method_options=capacity=24,safeguard=0.5"),
            "adakv method=keydiff ");
  EXPECT_EQ(testing_support::first_of_each_kind(std::vector<std::string>{
                "tova:capacity=60", "tova:capacity=24", "tova:mode=easykv", "ntk"}),
            (std::vector<std::string>{"tova:capacity=60", "tova:mode=easykv", "ntk"}));
}

}  // namespace
}  // namespace longhaul
