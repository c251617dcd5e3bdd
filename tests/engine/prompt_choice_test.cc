// The value of AttentionDriver::prompt_choice() for each method, compared with its behaviour.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "attention/settings.h"
#include "engine/perplexity.h"
#include "engine/short_nano.h"

namespace longhaul {
namespace {

using testing_support::short_nano;

class PromptChoices : public ::testing::Test {
 protected:
  static PromptChoice choice(const std::string& method) {
    return MethodSpec::parse(method).make(short_nano()->model().shape)->prompt_choice();
  }

  static std::vector<int32_t> text() {
    std::vector<int32_t> tokens;
    for (int i = 0; i < 200; ++i) tokens.push_back(3 + i * i % 4000);
    return tokens;
  }
  static SessionOptions with(const std::string& method, int chunk) {
    SessionOptions options;
    options.attention = MethodSpec::parse(method);
    options.kv_type = DType::F32;
    options.compute = Compute::kF32;
    options.chunk = chunk;
    return options;
  }

  /// -ln p per token of the text. The first `prefill` tokens are a prompt.
  static double loss(const std::string& method, int64_t prefill, int chunk = 0) {
    return measure_perplexity(short_nano(), with(method, chunk), text(),
                              {.window = 200, .stride = 200 - prefill, .prefill = prefill})
        .mean();
  }

  /// Whether rows are evicted after the text is read as a prompt.
  static bool leaves_out(const std::string& method) {
    Session session(short_nano(), with(method, kChunk));
    PrefillHooks hooks;
    hooks.instruction = 16;
    EXPECT_TRUE(session.prefill(text(), hooks));
    int64_t all = 0;
    for (const int lists : short_nano()->model().shape.kv_heads) all += 200 * lists;
    return session.report().live_rows < all;
  }

  /// The share of a long text's kept rows that are also kept with another question of 16 tokens
  /// after it.
  static double same_rows_with_another_question(const std::string& method) {
    constexpr int32_t kText = 1600, kQuestion = 16;
    std::vector<std::vector<int32_t>> kept;
    for (const int32_t word : {700, 2900}) {
      std::vector<int32_t> tokens;
      for (int32_t i = 0; i < kText; ++i) tokens.push_back(3 + i * i % 4000);
      for (int32_t i = 0; i < kQuestion; ++i) tokens.push_back(word + 3 * i);
      Session session(short_nano(), with(method, 0));
      EXPECT_TRUE(session.prefill(tokens));
      std::vector<int32_t>& rows = kept.emplace_back();
      for (int layer = 0; layer < short_nano()->model().shape.layers; ++layer) {
        for (int list = 0; list < session.store().lists(layer); ++list) {
          for (const int32_t token : host(session.store().tokens(layer, list).listed)) {
            if (token < kText) rows.push_back((100 * layer + list) * kText + token);
          }
        }
      }
    }
    std::vector<int32_t> same;
    std::ranges::set_intersection(kept[0], kept[1], std::back_inserter(same));
    return static_cast<double>(same.size()) / static_cast<double>(kept[0].size());
  }

  static constexpr int kChunk = 32;  ///< rows per pass: several passes
};

/// Most values follow from behaviour: rows are evicted, and only after all were read with dense
/// attention. Two methods are identified by their names.
TEST_F(PromptChoices, AreWhatTheMethodsDo) {
  const double dense = loss("dense", 0, kChunk);
  int at_the_end = 0;
  for (const auto& [spec, setting] :
       testing_support::first_of_each_kind(testing_support::small_settings())) {
    SCOPED_TRACE(spec);
    const std::string name = spec.substr(0, spec.find(':'));
    if (name == "citrus") {
      EXPECT_EQ(choice(spec), PromptChoice::kByInstruction);
    } else if (name == "tova") {
      EXPECT_EQ(choice(spec), PromptChoice::kByLastRow);
    } else {
      const bool at_end = leaves_out(spec) && std::abs(loss(spec, 0, kChunk) - dense) < 1e-4;
      const bool by_attention = spec.find("keydiff") == std::string::npos &&  // includes adakv's
                                !spec.starts_with("random") &&
                                spec.find("expectedattention") == std::string::npos;
      EXPECT_EQ(choice(spec), !at_end        ? PromptChoice::kWhileReading
                              : by_attention ? PromptChoice::kAtEnd
                                             : PromptChoice::kOnceRead);
      at_the_end += at_end ? 1 : 0;
    }
  }
  EXPECT_GT(at_the_end, 2);
}

/// If the end of a prompt has no special influence, another question leaves the text's rows
/// unchanged, and chat may read it ahead.
TEST_F(PromptChoices, OnceReadMeansThatTheQuestionDecidesNextToNothing) {
  EXPECT_EQ(choice("snapkv"), PromptChoice::kAtEnd);
  const double by_question = same_rows_with_another_question("snapkv:capacity=160,window=16");
  for (const char* method : {"keydiff:capacity=160", "expectedattention:capacity=160"}) {
    SCOPED_TRACE(method);
    EXPECT_EQ(choice(method), PromptChoice::kOnceRead);
    const double same = same_rows_with_another_question(method);
    EXPECT_GT(same, 0.97);
    EXPECT_LT(by_question, same - 0.02);
  }
}

/// Until the prompt ends its rows equal those of dense attention. Then many are evicted.
TEST_F(PromptChoices, AtTheEndMeansDenseUntilThen) {
  const double prompt = loss("dense", 0), reply = loss("dense", 150);
  for (const char* method : {"snapkv:capacity=64,window=16", "pyramidkv:capacity=64,window=8",
                             "h2o:mode=oneshot,budget=64", "fastgen:threshold=0"}) {
    SCOPED_TRACE(method);
    ASSERT_EQ(choice(method), PromptChoice::kAtEnd);
    EXPECT_NEAR(loss(method, 0), prompt, 2e-3);
    EXPECT_GT(std::abs(loss(method, 150) - reply), 1e-6);
  }
}

}  // namespace
}  // namespace longhaul
