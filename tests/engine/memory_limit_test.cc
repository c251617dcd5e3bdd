// SessionOptions::memory_limit: the forecast before a prompt or a session file is read.

#include <gtest/gtest.h>

#include <limits>

#include "base/parallel.h"
#include "engine/session.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::has;
using testing_support::TempFolder;

constexpr int kTokens = 1000;
constexpr size_t kOfTokens = size_t{kTokens} * 12 * 2 * 3 * 64 * 4;  // in f32: 17.6 MiB

class MemoryLimit : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { nano_ = Engine::open(LONGHAUL_MODELS "/nano"); }
  static void TearDownTestSuite() { nano_.reset(); }

  static std::vector<int32_t> prompt(int tokens) {
    std::vector<int32_t> ids;
    for (int i = 0; i < tokens; ++i) ids.push_back(3 + i * i % 4000);
    return ids;
  }

  /// Keys and values are f32. `beside_weights` bytes are allowed in addition to weights and
  /// program; 0: no limit.
  static SessionOptions options(const char* method, size_t beside_weights) {
    SessionOptions options;
    options.attention = MethodSpec::parse(method);
    options.kv_type = DType::F32;
    if (beside_weights > 0) {
      options.memory_limit = nano_->weight_bytes() + nano_->process_bytes() + beside_weights;
    }
    return options;
  }

  std::filesystem::path saved(const char* method) const {
    Session session(nano_, options(method, 0));
    session.prefill(prompt(kTokens));
    session.save(folder_.path() / "s");
    return folder_.path() / "s";
  }

  TempFolder folder_;
  inline static std::shared_ptr<const Engine> nano_;
};

TEST_F(MemoryLimit, ASessionFileIsForecastBeforeItsRowsAreRead) {
  const auto file = saved("dense");
  Session small(nano_, options("dense", kOfTokens / 2));
  const std::string error = error_of([&] { small.load(file); });
  EXPECT_TRUE(has(error, {file.string(), "1000 tokens", "--memory-limit", "weights", "KV"}));
  EXPECT_TRUE(small.tokens().empty());
  EXPECT_EQ(small.report().kv_bytes, 0u);

  // A page of 64 rows may be started in each of 36 lists, and a list counts twice.
  Session enough(nano_, options("dense", kOfTokens + kOfTokens / 4));
  enough.load(file);
  EXPECT_EQ(enough.tokens().size(), size_t{kTokens});
}

TEST_F(MemoryLimit, ASessionFileCountsWhatItHoldsAndNotTheTextItWas) {
  const auto file = saved("snapkv:capacity=64,window=16");
  Session session(nano_, options("snapkv:capacity=64,window=16", kOfTokens / 2));
  session.load(file);
  EXPECT_EQ(session.tokens().size(), size_t{kTokens});
  EXPECT_LT(session.report().kv_bytes, kOfTokens / 4);
  // Reading that text needs memory for all of its rows at once.
  Session reading(nano_, options("snapkv:capacity=64,window=16", kOfTokens / 2));
  EXPECT_TRUE(has(error_of([&] { reading.prefill(prompt(kTokens)); }), {"--memory-limit"}));
}

TEST_F(MemoryLimit, TheReplyIsCountedAsFarAsTheContextGoes) {
  set_thread_count(2);
  const size_t needed = Session(nano_, options("dense", 0)).forecast(100).total();
  SessionOptions tight = options("dense", 0);
  tight.memory_limit = needed + (1 << 20);
  PrefillHooks hooks;
  hooks.reply = 10'000;
  Session session(nano_, tight);
  const std::string error = error_of([&] { session.prefill(prompt(100), hooks); });
  EXPECT_TRUE(has(error, {"100 tokens and a reply of up to 10,000", "--memory-limit", "or reply"}));
  EXPECT_TRUE(session.tokens().empty());
  hooks.reply = std::numeric_limits<int64_t>::max();
  EXPECT_TRUE(has(error_of([&] { session.prefill(prompt(100), hooks); }), {"--memory-limit"}));

  tight.context = 120;  // within the pages of the prompt's 100 tokens
  Session bounded(nano_, tight);
  EXPECT_TRUE(bounded.prefill(prompt(100), hooks));
  hooks.reply = 0;
  EXPECT_TRUE(session.prefill(prompt(100), hooks));
}

TEST_F(MemoryLimit, IsSharedByTheSessionsThatRunAtATime) {
  SessionOptions two = options("dense", 0);
  const size_t alone = Session(nano_, two).forecast(kTokens).total();
  two.at_a_time = 2;
  const MemoryForecast need = Session(nano_, two).forecast(kTokens);
  EXPECT_EQ(need.others, need.kv + need.working);
  EXPECT_EQ(need.total(), alone + need.others);
  two.memory_limit = need.total() - 1;
  Session session(nano_, two);
  EXPECT_TRUE(
      has(error_of([&] { session.prefill(prompt(kTokens)); }), {"beside it ", "--memory-limit"}));
  EXPECT_FALSE(session.has_room(kTokens, 0, 0));
  two.at_a_time = 1;
  EXPECT_TRUE(Session(nano_, two).has_room(kTokens, 0, need.others - 1));
  EXPECT_FALSE(Session(nano_, two).has_room(kTokens, 0, need.others));
}

TEST_F(MemoryLimit, RowsThatAMethodObservesAreCounted) {
  const size_t few =
      Session(nano_, options("snapkv:capacity=900,window=32", 0)).forecast(5000).working;
  const size_t many =
      Session(nano_, options("snapkv:capacity=900,window=832", 0)).forecast(5000).working;
  // Queries and denominators in f32, and the buffers from which they are moved.
  EXPECT_EQ(many - few, 2 * size_t{800} * 12 * 6 * (64 + 1) * 4);
}

TEST_F(MemoryLimit, TheReplyIsCountedWhereAMethodCutsPromptsOnly) {
  SessionOptions small = options("h2o:budget=64,stride=16,recent=8", 0);
  small.memory_limit = Session(nano_, small).forecast(400).total() + kOfTokens * 3 / 10;
  Session session(nano_, small);
  PrefillHooks hooks;
  hooks.reply = kTokens;
  EXPECT_TRUE(has(error_of([&] { session.prefill(prompt(400), hooks); }), {"--memory-limit"}));
  hooks.reply = kTokens / 4;
  EXPECT_TRUE(session.prefill(prompt(400), hooks));
}

}  // namespace
}  // namespace longhaul
