// citrus through sessions on a real model: a document before the instruction, further questions,
// session files, cancelling.

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/generate.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

constexpr const char* kCitrusKey = "58213";
constexpr const char* kCitrusQuestion = "\nWhat is the pass key?";

class CitrusSession : public ::testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() { engine_ = Engine::open(LONGHAUL_MODELS "/nano"); }
  static void TearDownTestSuite() { engine_.reset(); }

  static std::vector<int32_t> encode(const std::string& text) {
    return engine_->tokenizer().encode(text, {.add_special = true, .parse_special = true});
  }
  /// About 500 tokens with the pass key in the first third.
  static std::vector<int32_t> document() {
    std::string text = "<|im_start|>user\n";
    for (int i = 0; i < 40; ++i) {
      text += "The harbour was quiet and the boats lay still. ";
      if (i == 9) text += "\nThe pass key is 58213. Remember it. 58213 is the pass key.\n";
    }
    return encode(text);
  }
  /// The question and the reply's first words. Numbers are looked up while they are generated.
  static std::vector<int32_t> question() {
    return encode(std::string(kCitrusQuestion) +
                  "<|im_end|>\n<|im_start|>assistant\nThe pass key is");
  }

  static Session session(int64_t k, int chunk = 1024) {
    SessionOptions options;
    options.attention =
        MethodSpec::parse(fmt::format("citrus:cache={},k={},chunk=64", GetParam(), k));
    options.chunk = chunk;
    return Session(engine_, options);
  }

  static bool read(Session& session, std::vector<int32_t> text, const std::vector<int32_t>& asked,
                   const CancelFlag* cancel = nullptr,
                   std::function<void(int64_t, int64_t)> progress = {}) {
    text.insert(text.end(), asked.begin(), asked.end());
    PrefillHooks hooks;
    hooks.instruction = std::ssize(asked);
    hooks.cancel = cancel;
    hooks.progress = std::move(progress);
    return session.prefill(text, hooks);
  }

  static std::string answer(Session& session) {
    GenerateOptions options;
    options.max_tokens = 12;
    return generate(session, options).text;
  }

  inline static std::shared_ptr<const Engine> engine_;
};

TEST_P(CitrusSession, AnswersWhatItCoversAsDenseDoes) {
  Session citrus = session(1000), dense(engine_, SessionOptions{});
  ASSERT_TRUE(read(citrus, document(), question()));
  ASSERT_TRUE(read(dense, document(), question()));
  EXPECT_EQ(citrus.tokens().size(), dense.tokens().size());
  EXPECT_EQ(citrus.report().live_rows, dense.report().live_rows);
  const std::string text = answer(dense);
  EXPECT_NE(text.find(kCitrusKey), std::string::npos) << text;
  EXPECT_EQ(answer(citrus), text);
}

TEST_P(CitrusSession, HoldsItsBudgetAndWhatFollows) {
  Session s = session(128);
  ASSERT_TRUE(read(s, document(), question()));
  const int64_t lists = 36, asked = std::ssize(question());
  EXPECT_EQ(s.report().live_rows, lists * (128 + asked));
  EXPECT_EQ(s.tokens().size(), document().size() + question().size());
  EXPECT_LT(s.report().kv_bytes, 2 * 2 * 64 * 36 * (128 + static_cast<size_t>(asked) + 64));
  s.decode(17);
  EXPECT_EQ(s.report().live_rows, lists * (128 + asked + 1));
  EXPECT_EQ(s.forecast(1 << 20).kv, s.forecast(1 << 14).kv);
}

TEST_P(CitrusSession, TheChunkOfThePassesChangesNothing) {
  Session whole = session(128), cut = session(128, 24);
  ASSERT_TRUE(read(whole, document(), question()));
  ASSERT_TRUE(read(cut, document(), question()));
  EXPECT_EQ(whole.report().live_rows, cut.report().live_rows);
  EXPECT_EQ(answer(whole), answer(cut));
}

/// One product in place of several changes only the last digits.
TEST_P(CitrusSession, ReadsPassesTogetherAsEachByItself) {
  const int asked_rows = static_cast<int>(std::ssize(question()));
  std::vector<std::vector<float>> logits;
  std::vector<std::vector<int64_t>> kept;
  // The sizes have no room for two passes, room for an instruction with its chunk, and room for
  // many passes.
  for (const int rows : {asked_rows, 64 + asked_rows, 4096}) {
    SessionOptions options = session(128, rows).options();
    options.compute = Compute::kF32;
    options.kv_type = DType::F32;
    Session s(engine_, options);
    int together = 0;
    s.observe([&](const LayerStep& step, std::span<const AttendTask>) {
      together = std::max(together, step.nth_pass + 1);
    });
    ASSERT_TRUE(read(s, document(), question()));
    // With the first size at most the ends of two chunks are together.
    EXPECT_EQ(together > 4, rows == 4096) << together;
    EXPECT_TRUE(rows == asked_rows ? together <= 2 : together >= 2) << together;
    logits.emplace_back(s.logits().begin(), s.logits().end());
    kept.emplace_back();
    for (int layer = 0; layer < 12; ++layer) {
      for (int64_t row = 0; row < s.store().length(layer, 0); ++row) {
        kept.back().push_back(s.store().token_of(layer, 0, row));
      }
    }
  }
  for (const size_t i : {1, 2}) {
    EXPECT_EQ(kept[0], kept[i]);
    for (size_t k = 0; k < logits[0].size(); ++k) ASSERT_NEAR(logits[0][k], logits[i][k], 2e-3);
  }
}

TEST_P(CitrusSession, AFurtherQuestionReadsWhatIsLeft) {
  const testing_support::TempFolder folder;
  const auto file = folder.path() / "session";
  Session s = session(128), loaded = session(128);
  ASSERT_TRUE(read(s, document(), question()));
  const std::string first = answer(s);
  s.save(file);
  loaded.load(file);
  const auto next = encode(
      "<|im_end|>\n<|im_start|>user\nHow was the harbour?<|im_end|>\n"
      "<|im_start|>assistant\nThe harbour was");
  std::vector<std::string> answers;
  for (Session* each : {&s, &loaded}) {
    ASSERT_TRUE(read(*each, {}, next));
    EXPECT_EQ(each->report().live_rows, 36 * (128 + std::ssize(next)));
    answers.push_back(answer(*each));
    // A further turn has a document with its question.
    ASSERT_TRUE(read(*each, document(), question()));
    EXPECT_EQ(each->report().live_rows, 36 * (128 + std::ssize(question())));
    answers.push_back(answer(*each));
  }
  EXPECT_EQ(answers[0], answers[2]);
  EXPECT_EQ(answers[1], answers[3]);
}

TEST_P(CitrusSession, GoesOnAfterItWasCancelled) {
  Session s = session(128, 64 + static_cast<int>(std::ssize(question())));  // one chunk at a time
  CancelFlag cancel;
  ASSERT_FALSE(read(s, document(), question(), &cancel, [&](int64_t done, int64_t) {
    if (done >= 256) cancel.request();
  }));
  EXPECT_EQ(s.tokens().size(), 256u);
  EXPECT_EQ(s.store().longest(), 128 + 64);
  const auto text = document();
  ASSERT_TRUE(read(s, {text.begin() + 256, text.end()}, question()));
  Session at_once = session(128);
  ASSERT_TRUE(read(at_once, text, question()));
  EXPECT_TRUE(std::equal(s.tokens().begin(), s.tokens().end(), at_once.tokens().begin()));
  EXPECT_EQ(s.report().live_rows, at_once.report().live_rows);
  const std::string cache = GetParam();
  if (cache != "individual") {  // the individual cache's list of the document ends with the prompt
    EXPECT_EQ(answer(s), answer(at_once));
  }
}

TEST_P(CitrusSession, NeedsAnInstruction) {
  Session s = session(128);
  try {
    s.prefill(document());
    ADD_FAILURE() << "read without an instruction";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("instruction with -p"), std::string::npos);
  }
  EXPECT_TRUE(s.tokens().empty());
}

INSTANTIATE_TEST_SUITE_P(Caches, CitrusSession,
                         ::testing::Values("standard", "shared", "individual"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace longhaul
