// Attention methods through sessions on a real model. They answer like dense attention if they
// cover the prompt, evicted rows are gone, and cancelled prompts can be resumed.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "attention/settings.h"
#include "engine/generate.h"
#include "engine/half_way.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

constexpr const char* kMethodReply = "The pass key is 58213.";

class Methods : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { engine_ = Engine::open(LONGHAUL_MODELS "/nano"); }
  static void TearDownTestSuite() { engine_.reset(); }

  /// About 300 tokens with the pass key in the middle.
  static std::vector<int32_t> prompt() {
    std::string text;
    for (int i = 0; i < 24; ++i) {
      text += "The harbour was quiet and the boats lay still. ";
      if (i == 12) text += "\nThe pass key is 58213. Remember it. 58213 is the pass key.\n";
    }
    const std::vector<ChatMessage> messages{{ChatRole::user, text + "\nWhat is the pass key?"}};
    return engine_->tokenizer().encode(engine_->chat_template().segments(messages, true), false);
  }

  static Session session(const std::string& method, int chunk = 128) {
    SessionOptions options;
    options.attention = MethodSpec::parse(method);
    options.chunk = chunk;
    return Session(engine_, options);
  }

  static std::string answer(Session& session) {
    GenerateOptions options;
    options.max_tokens = 24;
    return generate(session, options).text;
  }

  inline static std::shared_ptr<const Engine> engine_;
};

/// Sparse prefills that still find a fact in one place.
constexpr const char* kSparse[] = {
    "trianglemix:window=16,last=64",
    "triangle:window=16,last=64",
    "minference:dense_below=0,vertical=30,slash=100",
    "flexprefill:dense_below=0,min_budget=64",
    "xattention:dense_below=0",
    "trianglemix:window=16,last=64,dense=xattention,dense_options=dense_below=0",
    "reattention:global=8,local=64,chunk=32,clip=12,fidelity=paper",
};

TEST_F(Methods, AnswerAPromptThatTheyCover) {
  const auto tokens = prompt();
  EXPECT_GT(tokens.size(), 250u);
  PrefillHooks hooks;
  hooks.instruction = 16;
  // A context below nano's own, and a setting without effect with nano's profile.
  const std::set<std::string> refused = {"ntk:mode=fixed,context=4096",
                                         "minference:dense_below=0,pattern=blocks"};
  for (const std::string& method :
       testing_support::first_of_each_kind(testing_support::covering_settings())) {
    if (refused.contains(method)) continue;
    Session s = session(method, 96);
    ASSERT_TRUE(s.prefill(tokens, hooks)) << method;
    EXPECT_EQ(answer(s), kMethodReply) << method;
  }
}

TEST_F(Methods, AnswerWhatASparseReadingFinds) {
  const auto tokens = prompt();
  for (const char* method : kSparse) {
    for (const int chunk : {96, 1024}) {
      Session s = session(method, chunk);
      ASSERT_TRUE(s.prefill(tokens)) << method;
      EXPECT_EQ(answer(s), kMethodReply) << method << " chunk " << chunk;
    }
  }
}

/// A disabled method would pass the tests above.
TEST_F(Methods, SaveWorkOrRowsOnATextThatTheyDoNotCover) {
  std::ifstream in(LONGHAUL_MODELS "/../examples/age_of_innocence_33.txt");
  std::stringstream novel;
  novel << in.rdbuf();
  const std::vector<int32_t> all = engine_->tokenizer().encode(novel.str());
  const size_t text = 500;
  ASSERT_GT(all.size(), text);
  PrefillHooks hooks;
  hooks.instruction = 16;
  for (const auto& [method, setting] :
       testing_support::first_of_each_kind(testing_support::small_settings())) {
    Session s = session(method, 512);
    ASSERT_TRUE(s.prefill(std::span(all).first(text), hooks)) << method;
    const SessionReport report = s.report();
    const double rows = static_cast<double>(report.live_rows) /
                        static_cast<double>(report.tokens * s.store().layout().all_heads());
    const bool forgets = MethodSpec::parse(method).make(engine_->model().shape)->forgets();
    const double share = forgets ? rows : report.pairs_share;
    if (setting.saves_nothing) {
      EXPECT_GE(share, 1) << method;
    } else {
      EXPECT_LT(share, 0.9) << method;
    }
  }
}

TEST_F(Methods, ForgetWhatLeftTheirWindow) {
  const auto tokens = prompt();
  for (const char* method : {"streamingllm:recent=64", "lminfinite:local=64,limit=64",
                             "duo:sparsity=1,sink=4,recent=64"}) {
    Session s = session(method, 32);
    ASSERT_TRUE(s.prefill(tokens));
    EXPECT_EQ(answer(s).find("58213"), std::string::npos) << method;
    EXPECT_LE(s.store().longest(), 64 + 10 + 63);
    EXPECT_LT(s.report().pairs_share, 0.7);
  }
}

TEST_F(Methods, GatesDecideWhichHeadsRemember) {
  // The retrieval heads listed in models/nano/README.md, and an equal number of others.
  const testing_support::TempFolder folder;
  std::vector<std::vector<int>> gates(12, std::vector<int>(3, 0));
  for (const auto& [layer, head] : std::vector<std::pair<size_t, size_t>>{
           {8, 2}, {5, 0}, {5, 1}, {7, 2}, {10, 0}, {9, 0}, {9, 1}, {6, 1}, {8, 0}}) {
    gates[layer][head] = 1;
  }
  std::string text;
  for (const auto& row : gates) {
    for (const int gate : row) text += std::to_string(gate) + "\t";
    text += "\n";
  }
  const std::string file = folder.write("gates.tsv", text).string();
  Session s = session("duo:threshold=0.5,sink=16,recent=64,gates=" + file, 32);
  ASSERT_TRUE(s.prefill(prompt()));
  const KvStore& store = s.store();
  EXPECT_EQ(store.length(8, 2), static_cast<int64_t>(s.tokens().size()));
  EXPECT_LT(store.length(8, 1), 16 + 64 + 64);
  EXPECT_EQ(answer(s), kMethodReply);
}

TEST_F(Methods, APromptThatWasCancelledHalfWayCanBeFollowedByAnother) {
  const auto tokens = prompt();
  for (const char* method :
       {"reattention:local=128,chunk=64,clip=12,fidelity=paper", "fastgen:threshold=1.5"}) {
    Session s = session(method, 64);
    CancelFlag cancel;
    EXPECT_FALSE(s.prefill(tokens, testing_support::until_half_way(cancel)));
    EXPECT_LT(s.tokens().size(), tokens.size());
    ASSERT_TRUE(s.prefill(tokens));
    EXPECT_EQ(answer(s), kMethodReply) << method;
  }
}

/// The rest is read in the original passes, so the result is bitwise equal.
TEST_F(Methods, APromptThatWasCancelledHalfWayIsReadOnAsInOneGo) {
  std::vector<int32_t> twice = prompt();
  const auto once = twice;
  twice.insert(twice.end(), once.begin(), once.end());
  const auto tokens = std::span<const int32_t>(twice).first(320);  // five passes of 64
  for (const char* method :
       {"streamingllm:recent=64", "lminfinite:local=64,limit=64", "duo:sparsity=1,sink=4,recent=64",
        "duo:sink=4,recent=64", "duo:sparsity=1,sink=4,recent=64,prefill_mode=strict_streaming",
        "minference:dense_below=0,vertical=30,slash=100",
        "minference:dense_below=0,patterns=search,search_at=100",
        "flexprefill:dense_below=0,min_budget=64", "xattention:dense_below=0",
        "trianglemix:window=16,last=16", "triangle:window=16,last=16", "ntk", "ntk:mode=hf"}) {
    SCOPED_TRACE(method);
    Session s = session(method, 64), whole = session(method, 64);
    CancelFlag cancel;
    ASSERT_FALSE(s.prefill(tokens, testing_support::until_half_way(cancel)));
    ASSERT_EQ(s.tokens().size(), 192u);
    ASSERT_TRUE(s.prefill(tokens.subspan(192)));
    ASSERT_TRUE(whole.prefill(tokens));
    EXPECT_EQ(s.report().live_rows, whole.report().live_rows);
    for (Session* each : {&s, &whole}) each->decode(tokens[5]);
    EXPECT_TRUE(std::ranges::equal(s.logits(), whole.logits()));
  }
}

TEST_F(Methods, KnowWhichTokensAreSpecialOrPunctuation) {
  const std::vector<TokenClass>& classes = *engine_->model().shape.token_classes;
  const Tokenizer& tokenizer = engine_->tokenizer();
  ASSERT_EQ(classes.size(), tokenizer.vocab_size());
  EXPECT_EQ(classes[static_cast<size_t>(*tokenizer.special_token("<|im_end|>"))],
            TokenClass::kSpecial);
  for (const char* text : {".", ",", " (", "\n", "a", "7"}) {
    const auto ids = tokenizer.encode(text, {.add_special = false});
    const bool marks = std::string_view(text).find_first_of(".,(") != std::string_view::npos;
    ASSERT_EQ(ids.size(), 1u) << text;
    EXPECT_EQ(classes[static_cast<size_t>(ids[0])],
              marks ? TokenClass::kPunctuation : TokenClass::kOther)
        << text;
  }
}

TEST_F(Methods, TheForecastOfAMethodThatForgetsDoesNotGrowWithTheContext) {
  Session bounded = session("streamingllm"), dense = session("dense");
  EXPECT_EQ(bounded.forecast(1 << 20).kv, bounded.forecast(1 << 14).kv);
  EXPECT_GT(dense.forecast(1 << 20).kv, 60 * dense.forecast(1 << 14).kv);
}

}  // namespace
}  // namespace longhaul
