// Properties of every method in the registry with settings that do not cover the prompt: a saved
// session continues like the original, and a cancelled prompt can be resumed.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "attention/settings.h"
#include "attention/test_name.h"
#include "engine/generate.h"
#include "engine/half_way.h"
#include "engine/pass_key_prompt.h"
#include "engine/short_nano.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::short_nano;
using testing_support::Small;

class EveryMethod : public ::testing::TestWithParam<Small> {
 protected:
  static Session session() {
    SessionOptions options;
    options.attention = MethodSpec::parse(GetParam().spec);
    options.chunk = 64;
    return Session(short_nano(), options);
  }

  static std::vector<int32_t> prompt() { return testing_support::early_pass_key(*short_nano()); }

  /// The last tokens are the instruction, for methods that need one.
  static bool read(Session& session, std::span<const int32_t> tokens, PrefillHooks hooks = {}) {
    hooks.instruction = std::min<int64_t>(16, std::ssize(tokens) / 2);
    return session.prefill(tokens, hooks);
  }

  static std::vector<int32_t> reply(Session& session) {
    GenerateOptions few;
    few.max_tokens = 8;
    return generate(session, few).tokens;
  }
};

TEST_P(EveryMethod, GoesOnFromAFileAsTheOriginal) {
  const testing_support::TempFolder folder;
  Session original = session(), restored = session();
  ASSERT_TRUE(read(original, prompt()));
  reply(original);
  original.save(folder.path() / "session");
  restored.load(folder.path() / "session");
  EXPECT_TRUE(std::ranges::equal(restored.tokens(), original.tokens()));
  const auto second = testing_support::chat_tokens(
      *short_nano(), "Name the pass key once more, and say how quiet the harbour was.");
  ASSERT_TRUE(read(original, second));
  ASSERT_TRUE(read(restored, second));
  EXPECT_TRUE(std::ranges::equal(restored.logits(), original.logits()));
  EXPECT_EQ(reply(restored), reply(original));
  EXPECT_EQ(restored.report().live_rows, original.report().live_rows);
}

TEST_P(EveryMethod, ReadsOnAfterACancelledPrompt) {
  const auto tokens = prompt();
  Session cut = session(), whole = session();
  CancelFlag cancel;
  ASSERT_FALSE(read(cut, tokens, testing_support::until_half_way(cancel)));
  const size_t done = cut.tokens().size();
  ASSERT_LT(done, tokens.size());
  ASSERT_TRUE(read(cut, std::span(tokens).subspan(done)));
  ASSERT_TRUE(read(whole, tokens));
  EXPECT_TRUE(std::ranges::equal(cut.tokens(), tokens));
  for (const float logit : cut.logits()) ASSERT_TRUE(std::isfinite(logit));
  EXPECT_LE(cut.report().live_rows, whole.report().live_rows * 3 / 2);
  EXPECT_FALSE(reply(cut).empty());
}

INSTANTIATE_TEST_SUITE_P(
    Registry, EveryMethod,
    ::testing::ValuesIn(testing_support::first_of_each_kind(testing_support::small_settings())),
    [](const auto& test) { return testing_support::test_name(test.param.spec); });

}  // namespace
}  // namespace longhaul
