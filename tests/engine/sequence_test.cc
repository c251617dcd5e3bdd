// Sequences that share model runners: clones, prefill with a yield hook, generations side by side.

#include "engine/sequence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

#include "attention/settings.h"
#include "attention/test_name.h"
#include "base/clock.h"
#include "engine/generate.h"
#include "engine/sequence_run.h"
#include "kv/shared_pages.h"

namespace longhaul {
namespace {

using testing_support::decode;
using testing_support::hooks_for;
using testing_support::logits_of;
using testing_support::read;
using testing_support::runner;
using testing_support::same_bits;
using testing_support::sequence_of;
using testing_support::short_nano;
using testing_support::Small;

std::vector<int32_t> prompt() { return testing_support::early_pass_key(*short_nano()); }

class EverySequence : public ::testing::TestWithParam<Small> {};

TEST_P(EverySequence, AndItsCloneAndTheClonesCloneGoOnAlike) {
  ModelRunner with = runner();
  Sequence original = sequence_of(GetParam().spec);
  read(original, prompt(), with);
  decode(original, with, 2);
  Sequence clone = original.clone();
  EXPECT_TRUE(std::ranges::equal(clone.tokens(), original.tokens()));
  EXPECT_TRUE(same_bits(logits_of(clone), logits_of(original)));
  const auto second = testing_support::chat_tokens(*short_nano(), "Name the pass key once more.");
  read(clone, second, with);
  Sequence third = clone.clone();
  read(original, second, with);
  const auto want = decode(original, with, 6);
  EXPECT_EQ(decode(third, with, 6), want);
  EXPECT_EQ(decode(clone, with, 6), want);
  EXPECT_EQ(clone.report().live_rows, original.report().live_rows);
  EXPECT_EQ(clone.report().pairs_share, original.report().pairs_share);
}

INSTANTIATE_TEST_SUITE_P(
    Registry, EverySequence,
    ::testing::ValuesIn(testing_support::first_of_each_kind(testing_support::small_settings())),
    [](const auto& test) { return testing_support::test_name(test.param.spec); });

TEST(Sequence, PoolsHoldNoPageAfterManyWereMadeAndDropped) {
  ASSERT_EQ(shared_page_bytes_in_use({}), 0u);
  {
    ModelRunner with = runner();
    std::mt19937 random(11);
    std::vector<Sequence> roots, all;
    for (const char* spec : {"dense", "tova:capacity=60,stride=20", "duo:sparsity=1,recent=60"}) {
      roots.push_back(sequence_of(spec));
      read(roots.back(), prompt(), with);
    }
    roots.push_back(sequence_of("dense", DType::Q8_0));  // pages of another size
    read(roots.back(), prompt(), with);
    for (int i = 0; i < 200; ++i) {
      const std::vector<Sequence>& from = all.empty() || random() % 2 == 0 ? roots : all;
      all.push_back(from[random() % from.size()].clone());
      if (random() % 3 == 0) decode(all.back(), with, 1);
      if (random() % 2 == 0) std::swap(all[random() % all.size()], all.back());
      if (random() % 2 == 0) all.pop_back();
    }
    EXPECT_GT(shared_page_bytes_in_use({}), 0u);
    std::shuffle(all.begin(), all.end(), random);
    roots.clear();
    while (!all.empty()) all.pop_back();
  }
  EXPECT_EQ(shared_page_bytes_in_use({}), 0u);
}

TEST(Sequence, OwnsTheBytesThatItDoesNotShare) {
  ModelRunner with = runner();
  Sequence original = sequence_of("dense");
  read(original, prompt(), with);
  const size_t alone = original.own_bytes();
  EXPECT_GT(alone, 0u);
  EXPECT_LE(alone, original.kv_forecast(0, 0));
  {
    Sequence clone = original.clone();
    EXPECT_EQ(clone.own_bytes(), 0u);
    EXPECT_EQ(original.own_bytes(), 0u);
    decode(clone, with, 1);  // a copy of each list's last page
    EXPECT_GT(clone.own_bytes(), 0u);
    EXPECT_LT(clone.own_bytes(), alone / 2);
  }
  EXPECT_EQ(original.own_bytes(), alone);
}

TEST(Prefill, YieldsBetweenAnyTwoLayersAndOthersMayDecodeThen) {
  ModelRunner prefills = runner(), decodes = runner();
  Sequence alone = sequence_of("dense"), other_alone = sequence_of("h2o:budget=60,stride=20");
  read(alone, prompt(), prefills);
  read(other_alone, prompt(), prefills);
  Sequence with_yield = sequence_of("dense"), other = other_alone.clone();
  const auto want = decode(other_alone, decodes, 4);
  int yields = 0;
  std::vector<std::vector<float>> found;
  read(with_yield, prompt(), prefills, [&] {
    if (++yields % 3 == 0 && found.size() < 4) found.push_back(decode(other, decodes, 1)[0]);
  });
  EXPECT_EQ(found, want);
  EXPECT_TRUE(same_bits(logits_of(with_yield), logits_of(alone)));
  const auto groups = (std::ssize(prompt()) + 63) / 64;
  EXPECT_GE(yields, groups * (short_nano()->model().config.layers - 1));
}

TEST(Prefill, IsCancelledBetweenStepsAndReadOn) {
  ModelRunner with = runner();
  Sequence cut = sequence_of("dense"), whole = sequence_of("dense");
  const auto tokens = prompt();
  CancelFlag cancel;
  PrefillHooks hooks;
  hooks.cancel = &cancel;
  Prefill first(cut, tokens, hooks);
  ASSERT_EQ(first.step(with), PrefillStep::kMore);
  const int64_t done = first.done();
  EXPECT_GT(done, 0);
  cancel.request();
  EXPECT_EQ(first.step(with), PrefillStep::kCancelled);
  EXPECT_EQ(std::ssize(cut.tokens()), done);
  EXPECT_TRUE(cut.logits().empty());
  read(cut, std::span(tokens).subspan(static_cast<size_t>(done)), with);
  read(whole, tokens, with);
  EXPECT_TRUE(std::ranges::equal(cut.tokens(), whole.tokens()));
}

TEST(Prefill, ThatIsDroppedLeavesWhatItsStepsHaveRead) {
  ModelRunner with = runner();
  Sequence sequence = sequence_of("citrus");
  const auto tokens = prompt();
  int64_t done = 0;
  {
    Prefill prefill(sequence, tokens, hooks_for(tokens));
    ASSERT_EQ(prefill.step(with), PrefillStep::kMore);
    done = prefill.done();
  }
  EXPECT_EQ(std::ssize(sequence.tokens()), done);
  read(sequence, std::span(tokens).subspan(static_cast<size_t>(done)), with);
  EXPECT_FALSE(sequence.logits().empty());
}

TEST(Generation, SideBySideGiveTheRepliesOfEachAlone) {
  ModelRunner with = runner();
  Sequence text = sequence_of("dense");
  read(text, prompt(), with);
  GenerateOptions options;
  options.max_tokens = 6;
  GenerateOptions warm = options;
  warm.sampler.temperature = 1;
  warm.sampler.seed = 5;
  std::vector<Reply> want;
  for (const GenerateOptions& each : {options, warm}) {
    Sequence sequence = text.clone();
    Generation generation(sequence, each);
    while (const auto token = generation.input()) {
      with.decode(sequence, *token);
      generation.take(sequence.logits());
    }
    EXPECT_TRUE(generation.ended());
    want.push_back(generation.reply());
  }
  Sequence first = text.clone(), second = text.clone();
  Generation a(first, options), b(second, warm);
  std::string streamed = a.reply().text;
  const auto advance = [&](Generation& generation, Sequence& sequence) {
    const std::optional<int32_t> token = generation.input();
    if (!token) return false;
    with.decode(sequence, *token);
    generation.take(sequence.logits());
    return true;
  };
  for (bool more = true; more;) {
    const bool one = advance(a, first), two = advance(b, second);
    more = one || two;
  }
  EXPECT_EQ(a.reply().tokens, want[0].tokens);
  EXPECT_EQ(b.reply().tokens, want[1].tokens);
  EXPECT_EQ(a.reply().text, want[0].text);
  EXPECT_EQ(a.reply().stop, want[0].stop);
}

/// Replies that are decoded together wait until the prompts of all have been read.
TEST(Generation, AWaitBeforeTheFirstStepIsNotDecodeTime) {
  ModelRunner with = runner();
  Sequence sequence = sequence_of("dense");
  read(sequence, prompt(), with);
  GenerateOptions options;
  options.max_tokens = 4;
  Generation generation(sequence, options);
  Sequence other = sequence_of("dense");
  read(other, prompt(), with);
  const Stopwatch decode_watch;
  while (const auto token = generation.input()) {
    with.decode(sequence, *token);
    generation.take(sequence.logits());
  }
  EXPECT_EQ(generation.reply().decode_steps, 3);
  EXPECT_GT(generation.reply().decode_seconds, 0);
  EXPECT_LE(generation.reply().decode_seconds, decode_watch.seconds());
}

TEST(Generation, OfNoTokensEndsAtOnce) {
  ModelRunner with = runner();
  Sequence sequence = sequence_of("dense");
  read(sequence, prompt(), with);
  GenerateOptions options;
  options.max_tokens = 0;
  Generation generation(sequence, options);
  EXPECT_TRUE(generation.ended());
  EXPECT_EQ(generation.input(), std::nullopt);
  EXPECT_EQ(generation.reply().stop, StopReason::kMaxTokens);
}

}  // namespace
}  // namespace longhaul
