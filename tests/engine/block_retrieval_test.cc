// InfLLM and Ltri-LLM on nano: text in old blocks is found again, memory stays small, and sessions
// continue after saving or cancelling.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "engine/generate.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::TempFolder;

constexpr const char* kInfLlm = "infllm:n_init=64,n_local=512,block=64,topk=16,cached=16";
constexpr const char* kLtri = "ltri:n_init=64,n_local=512,block=64,topk=16,cached=16";

class BlockRetrieval : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { engine_ = Engine::open(LONGHAUL_MODELS "/nano"); }
  static void TearDownTestSuite() { engine_.reset(); }

  /// About 4,000 tokens of a novel with a number at `depth`, and a question about it.
  static std::vector<int32_t> prompt(double depth) {
    std::ifstream in(LONGHAUL_MODELS "/../examples/age_of_innocence_33.txt");
    std::stringstream novel;
    novel << in.rdbuf();
    std::string text = novel.str().substr(0, 13000);
    EXPECT_EQ(text.size(), 13000u);
    const size_t at = text.find(". ", static_cast<size_t>(depth * 13000)) + 2;
    text.insert(at, "One of the special magic numbers for quiet-harbour is: 4826193. ");
    return chat(text +
                "\nWhat is the special magic number for quiet-harbour mentioned in the "
                "provided text?");
  }
  static std::vector<int32_t> chat(const std::string& text) {
    const std::vector<ChatMessage> messages{{ChatRole::user, text}};
    return engine_->tokenizer().encode(engine_->chat_template().segments(messages, true), false);
  }
  static int64_t token_of(const std::vector<int32_t>& tokens, const char* text) {
    std::string read;
    for (size_t i = 0; i < tokens.size(); ++i) {
      read += engine_->tokenizer().piece(tokens[i]);
      if (read.find(text) != std::string::npos) return static_cast<int64_t>(i);
    }
    ADD_FAILURE() << text;
    return 0;
  }
  static Session session(const char* method) {
    SessionOptions options;
    options.attention = MethodSpec::parse(method);
    return Session(engine_, options);
  }
  static std::string answer(Session& session) {
    GenerateOptions options;
    options.max_tokens = 48;
    return generate(session, options).text;
  }

  inline static std::shared_ptr<const Engine> engine_;
};

TEST_F(BlockRetrieval, LtriFindsTheBlockOfTheAnswer) {
  for (const double depth : {0.25, 0.5, 0.75}) {
    const auto tokens = prompt(depth);
    Session s = session(kLtri);  // uses the profile beside the model
    ASSERT_TRUE(s.prefill(tokens));
    // Memory holds as many blocks as a step looks up, so the blocks in memory were chosen.
    const int64_t page = token_of(tokens, "4826193") / 64;
    int found = 0;
    for (int layer = 0; layer < 12; ++layer) {
      found += s.store().rows(layer, 0).pages[page] != nullptr ? 1 : 0;
    }
    EXPECT_GE(found, 7) << "of 12 layers at depth " << depth;  // the layers from the first head on
    EXPECT_NE(answer(s).find("4826193"), std::string::npos) << "depth " << depth;
  }
}

TEST_F(BlockRetrieval, MostOfTheContextIsNotInMemory) {
  const auto tokens = prompt(0.5);
  Session dense = session("dense");
  ASSERT_TRUE(dense.prefill(tokens));
  for (const char* method : {kInfLlm, kLtri}) {
    Session s = session(method);
    ASSERT_TRUE(s.prefill(tokens));
    EXPECT_LT(s.report().kv_bytes, dense.report().kv_bytes * 6 / 10) << method;
    EXPECT_GT(s.report().kv_bytes, s.store().bytes()) << method;  // includes the index
    EXPECT_GT(s.store().spilled_bytes(), dense.report().kv_bytes * 4 / 10) << method;
    EXPECT_LT(s.forecast(1 << 20).kv, dense.forecast(1 << 20).kv / 4) << method;
    EXPECT_LT(s.report().pairs_share, 0.9) << method;
  }
}

TEST_F(BlockRetrieval, ASecondQuestionAfterSavingAndLoading) {
  const TempFolder folder;
  const auto first = prompt(0.5);
  const auto second = chat("Say the special magic number for quiet-harbour once more.");
  for (const char* method : {kInfLlm, kLtri}) {
    Session s = session(method);
    ASSERT_TRUE(s.prefill(first));
    answer(s);
    s.save(folder.path() / "session");
    Session loaded = session(method);
    loaded.load(folder.path() / "session");
    EXPECT_GT(loaded.store().spilled_bytes(), 0u);
    EXPECT_LE(loaded.report().kv_bytes, s.report().kv_bytes);
    for (Session* each : {&s, &loaded}) ASSERT_TRUE(each->prefill(second));
    EXPECT_TRUE(std::equal(s.logits().begin(), s.logits().end(), loaded.logits().begin(),
                           loaded.logits().end()))
        << method;
    EXPECT_EQ(answer(s), answer(loaded)) << method;
  }
}

TEST_F(BlockRetrieval, APromptReadOnAfterCancellingIsReadAsInOneGo) {
  const auto tokens = prompt(0.5);
  for (const char* method : {kInfLlm, kLtri}) {
    Session s = session(method);
    CancelFlag cancel;
    PrefillHooks hooks;
    hooks.cancel = &cancel;
    hooks.progress = [&](int64_t done, int64_t) {
      if (done >= 1500) cancel.request();
    };
    ASSERT_FALSE(s.prefill(tokens, hooks));
    const size_t read = s.tokens().size();
    EXPECT_LT(read, tokens.size());
    ASSERT_TRUE(s.prefill(std::span<const int32_t>(tokens).subspan(read)));
    Session whole = session(method);
    ASSERT_TRUE(whole.prefill(tokens));
    EXPECT_TRUE(std::ranges::equal(s.tokens(), whole.tokens())) << method;
    EXPECT_TRUE(std::ranges::equal(s.logits(), whole.logits())) << method;
    EXPECT_EQ(answer(s), answer(whole)) << method;
  }
}

}  // namespace
}  // namespace longhaul
