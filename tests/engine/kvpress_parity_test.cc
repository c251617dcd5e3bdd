// Rows kept by this engine and by kvpress 0.5.5 for equal prompts and models, both in f32.
// tools/parity/kvpress_goldens.py made the goldens.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "engine/session.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using Order = std::vector<std::vector<std::vector<int64_t>>>;  // [layer][KV head][rank]

class KvpressTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    nano_ = Engine::open(fs::path(LONGHAUL_MODELS) / "nano");
    std::ifstream in(fs::path(LONGHAUL_TEST_DATA) / "goldens/kvpress/kept.json");
    golden_ = nlohmann::json::parse(in);
    tokens_ = golden_.at("tokens").get<std::vector<int32_t>>();
  }

  static Session after_prompt(const std::string& method) {
    SessionOptions options;
    options.attention = MethodSpec::parse(method);
    options.kv_type = DType::F32;
    options.compute = Compute::kF32;
    options.chunk = static_cast<int>(tokens_.size());
    Session session(nano_, options);
    session.prefill(tokens_);
    return session;
  }

  static std::set<int64_t> kept(const Session& session, int layer, int head) {
    std::set<int64_t> tokens;
    for (int64_t row = 0; row < session.store().length(layer, head); ++row) {
      tokens.insert(session.store().token_of(layer, head, row));
    }
    return tokens;
  }

  /// The store drops whole pages at once. Up to a page of rows before `recent` may remain, which
  /// attention does not see.
  static void expect_sink_and_recent(const std::set<int64_t>& mine,
                                     const std::set<int64_t>& expected) {
    EXPECT_TRUE(std::ranges::includes(mine, expected));
    EXPECT_LT(mine.size(), expected.size() + 64);
  }

  /// Every list holds the first rows of kvpress's ranking. At the edge, two tokens whose scores
  /// differ by less than rounding may be exchanged: at most one exchange in at most one of 36
  /// lists.
  static void expect_first_of(const Session& session, const Order& order) {
    int exchanged = 0;
    for (size_t layer = 0; layer < order.size(); ++layer) {
      for (size_t head = 0; head < order[layer].size(); ++head) {
        const std::set<int64_t> mine =
            kept(session, static_cast<int>(layer), static_cast<int>(head));
        const std::vector<int64_t>& ranking = order[layer][head];
        ASSERT_LE(mine.size(), ranking.size());
        const std::set<int64_t> theirs(ranking.begin(),
                                       ranking.begin() + static_cast<std::ptrdiff_t>(mine.size()));
        std::vector<int64_t> only_mine;
        std::ranges::set_difference(mine, theirs, std::back_inserter(only_mine));
        EXPECT_LE(only_mine.size(), 1u) << "layer " << layer << ", KV head " << head;
        exchanged += only_mine.empty() ? 0 : 1;
      }
    }
    EXPECT_LE(exchanged, 1);
  }

  /// The heads of a layer share a budget, so the lists of a layer together hold the rows of
  /// kvpress's lists. At the edge, two scores that differ by less than rounding may be exchanged,
  /// also between heads: at most one exchange in at most one layer.
  static void expect_lists(const Session& session, const Order& theirs) {
    int exchanged = 0;
    for (size_t layer = 0; layer < theirs.size(); ++layer) {
      std::set<std::pair<size_t, int64_t>> mine, expected;
      for (size_t head = 0; head < theirs[layer].size(); ++head) {
        for (const int64_t token : kept(session, static_cast<int>(layer), static_cast<int>(head))) {
          mine.emplace(head, token);
        }
        for (const int64_t token : theirs[layer][head]) expected.emplace(head, token);
      }
      EXPECT_EQ(mine.size(), expected.size()) << "layer " << layer;
      std::vector<std::pair<size_t, int64_t>> only_mine;
      std::ranges::set_difference(mine, expected, std::back_inserter(only_mine));
      EXPECT_LE(only_mine.size(), 1u) << "layer " << layer;
      exchanged += only_mine.empty() ? 0 : 1;
    }
    EXPECT_LE(exchanged, 1);
  }

  /// Every list has `rows` rows, which are the first of kvpress's ranking.
  static void expect_the_first(const Session& session, int64_t rows, const Order& order) {
    ASSERT_EQ(order.size(), 12u);
    for (int layer = 0; layer < 12; ++layer) {
      for (int head = 0; head < 3; ++head) {
        EXPECT_EQ(session.store().length(layer, head), rows);
      }
    }
    expect_first_of(session, order);
  }

  static Order order(const char* name) { return golden_.at("kept").at(name).get<Order>(); }

  static inline std::shared_ptr<const Engine> nano_;
  static inline nlohmann::json golden_;
  static inline std::vector<int32_t> tokens_;
};

TEST_F(KvpressTest, SnapKvKeepsTheSameTokens) {
  const Session session = after_prompt("snapkv:capacity=120,window=32,kernel=5");
  EXPECT_EQ(session.store().length(3, 1), 120);
  expect_first_of(session, order("snapkv"));
}

TEST_F(KvpressTest, SnapKvWithAnotherWindowAndKernel) {
  expect_first_of(after_prompt("snapkv:capacity=120,window=8,kernel=7"),
                  order("snapkv_window8_kernel7"));
}

/// kvpress counts the window as part of a layer's budget, KVCache-Factory and this engine as an
/// addition. A list is therefore a window longer than kvpress's. kvpress's steps between layers are
/// fractions, ours are integers, rounded down. Their remainders leave a layer up to its index more
/// rows.
TEST_F(KvpressTest, PyramidKvKeepsTheirBudgetAndTheWindowOfTheSameRanking) {
  const nlohmann::json& golden = golden_.at("pyramidkv");
  int whole = 0;
  for (const nlohmann::json& setting : golden.at("settings")) {
    const int64_t window = setting.at("window"), average = setting.at("average");
    const int64_t beta = setting.at("beta");
    const auto budgets = setting.at("budgets").get<std::vector<int64_t>>();
    const bool no_rest = (budgets.front() - budgets.back()) % 11 == 0;
    whole += no_rest ? 1 : 0;
    const Session session =
        after_prompt(fmt::format("pyramidkv:capacity={},window={},kernel={},pooling=avg,beta={}",
                                 average + window, window, golden.at("kernel").get<int>(), beta));
    ASSERT_EQ(budgets.size(), 12u);
    for (int layer = 0; layer < 12; ++layer) {
      const int64_t theirs = budgets[static_cast<size_t>(layer)] + window;
      for (int head = 0; head < 3; ++head) {
        EXPECT_GE(session.store().length(layer, head), theirs);
        EXPECT_LE(session.store().length(layer, head), theirs + (no_rest ? 0 : layer));
      }
    }
    if (window == 8) expect_first_of(session, golden.at("window8").get<Order>());
  }
  EXPECT_EQ(whole, 2);
}

TEST_F(KvpressTest, TovaKeepsTheSameTokens) {
  expect_first_of(after_prompt("tova:capacity=120,stride=400"), order("tova"));
}

TEST_F(KvpressTest, StreamingLlmKeepsTheSameTokens) {
  const Session session = after_prompt("streamingllm:sink=4,recent=116");
  const Order theirs = order("streamingllm");
  for (size_t layer = 0; layer < theirs.size(); ++layer) {
    for (size_t head = 0; head < theirs[layer].size(); ++head) {
      const std::set<int64_t> expected(theirs[layer][head].begin(), theirs[layer][head].end());
      expect_sink_and_recent(kept(session, static_cast<int>(layer), static_cast<int>(head)),
                             expected);
    }
  }
}

TEST_F(KvpressTest, DuoStreamsTheSameHeads) {
  const nlohmann::json& duo = golden_.at("duo");
  const fs::path gates = fs::path(testing::TempDir()) / "kvpress_gates.tsv";
  std::ofstream out(gates);
  for (const auto& layer : duo.at("gates")) {
    for (size_t head = 0; head < layer.size(); ++head) {
      out << (head == 0 ? "" : "\t") << layer[head].get<double>();
    }
    out << '\n';
  }
  out.close();
  const Session session =
      after_prompt("duo:gates=" + gates.string() + ",sparsity=0.75,sink=64,recent=128");
  const auto streams = duo.at("streams").get<std::vector<std::vector<bool>>>();
  for (size_t layer = 0; layer < streams.size(); ++layer) {
    for (size_t head = 0; head < streams[layer].size(); ++head) {
      std::set<int64_t> expected;
      for (int64_t token = 0; token < static_cast<int64_t>(tokens_.size()); ++token) {
        const bool between = token >= 64 && token < static_cast<int64_t>(tokens_.size()) - 128;
        if (!streams[layer][head] || !between) expected.insert(token);
      }
      const std::set<int64_t> mine = kept(session, static_cast<int>(layer), static_cast<int>(head));
      expect_sink_and_recent(mine, expected);
      EXPECT_EQ(mine.size() < tokens_.size(), streams[layer][head]);
    }
  }
}

TEST_F(KvpressTest, KeyDiffKeepsTheSameTokens) {
  expect_the_first(after_prompt("keydiff:capacity=120,sink=0,recent=0"), 120, order("keydiff"));
}

TEST_F(KvpressTest, ExpectedAttentionKeepsTheSameTokens) {
  expect_the_first(
      after_prompt("expectedattention:capacity=120,sink=4,future=512,covariance=true,values=true"),
      120, order("expectedattention"));
}

TEST_F(KvpressTest, ExpectedAttentionWithoutTheCovariance) {
  expect_the_first(
      after_prompt("expectedattention:capacity=120,sink=4,future=512,covariance=false,values=true"),
      120, order("expectedattention_mean"));
}

TEST_F(KvpressTest, ExpectedAttentionWithOtherSinksAndFutureAndWithoutTheValues) {
  expect_the_first(
      after_prompt("expectedattention:capacity=120,sink=8,future=64,covariance=true,values=false"),
      120, order("expectedattention_sink8_future64_without_values"));
}

/// kvpress's safeguard is a minimum: the best `safeguard` of the whole capacity in every head,
/// including the window. The authors' code instead mixes each head's share with the average.
TEST_F(KvpressTest, AdaKvDealsTheSameBudgetsOutToTheHeads) {
  const nlohmann::json& settings = golden_.at("adakv");
  ASSERT_EQ(settings.size(), 3u);
  for (const nlohmann::json& setting : settings) {
    const int window = setting.at("window"), kernel = setting.at("kernel");
    const double safeguard = setting.at("safeguard");
    SCOPED_TRACE(fmt::format("window {}, safeguard {}", window, safeguard));
    const auto theirs = setting.at("kept").get<Order>();
    const Session session = after_prompt(fmt::format(
        "adakv:method=snapkv,method_options=capacity=120+window={}+kernel={},safeguard={}", window,
        kernel, safeguard));
    expect_lists(session, theirs);
    // Heads have different budgets, and each has at least its safeguard.
    EXPECT_NE(session.store().length(1, 0), session.store().length(1, 2));
    for (int layer = 0; layer < 12; ++layer) {
      for (int head = 0; head < 3; ++head) {
        EXPECT_GE(session.store().length(layer, head),
                  std::max<int64_t>(window, static_cast<int64_t>(120 * safeguard)));
      }
    }
  }
}

}  // namespace
}  // namespace longhaul
