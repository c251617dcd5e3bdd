// The scheduler's use of the prefix cache: what it keeps, reuses and reports.

#include <algorithm>
#include <random>

#include "scheduler_fixture.h"

namespace longhaul::serve {
namespace {

using testing_support::CacheServer;
using testing_support::nano_tokenizer;
using testing_support::text_of;
using testing_support::operator+;
using Tokens = std::vector<int32_t>;

MockSettings settings_with(ResumeRule rule) {
  MockSettings settings;
  settings.rule = rule;
  return settings;
}

const auto kSnapkv = [](Job& job) { job.attention = MethodSpec::parse("snapkv"); };
const auto kStreaming = [](Job& job) { job.attention = MethodSpec::parse("streamingllm"); };

TEST(CacheUse, ADocumentIsReadOnceForAllQuestions) {
  CacheServer server;
  const Tokens document = text_of(20'000, 1);
  server.answer(document + text_of(40, 2));
  for (unsigned question = 3; question < 12; ++question) {
    const JobReport report = server.answer(document + text_of(40, question));
    EXPECT_EQ(report.cache.reused, 20'000);
    EXPECT_TRUE(report.cache.exact);
  }
}

TEST(CacheUse, OnePrefillServesDenseAndTheMethodsThatReadLikeIt) {
  CacheServer server(settings_with({.group = ResumeGroup::kDense, .last = 32}));
  const Tokens document = text_of(5'000, 1);
  server.answer(document + text_of(40, 2), "", kSnapkv);
  EXPECT_EQ(server.answer(document + text_of(40, 3)).cache.reused, 5'000);
  EXPECT_EQ(server.answer(document + text_of(40, 4), "", kSnapkv).cache.reused, 5'000);
  EXPECT_EQ(server.metrics.value("longhaul_prompt_tokens_total", "source=\"read\""), 5'120);
}

TEST(CacheUse, AMethodOfAGridResumesAtItsUnits) {
  CacheServer server(settings_with({.group = ResumeGroup::kGrid, .unit = 512}));
  const Tokens document = text_of(20'000, 1);
  const auto asked = [](Job& job) {
    kStreaming(job);
    job.instruction = 40;
  };
  server.answer(document + text_of(40, 2), "", asked);
  const JobReport second = server.answer(document + text_of(40, 3), "", asked);
  EXPECT_EQ(second.cache.reused, 20'000 / 512 * 512);
  EXPECT_TRUE(second.cache.exact) << "the second prompt is divided at the same places";
}

TEST(CacheUse, ThePrefillOfABranchLeavesASnapshot) {
  SchedulerOptions options;
  options.cache_grid = 512;
  CacheServer server(settings_with({.group = ResumeGroup::kGrid, .unit = 64}), options);
  const Tokens trunk = text_of(700, 1);
  std::vector<int64_t> reused;
  for (unsigned branch = 2; branch < 5; ++branch) {
    reused.push_back(server.answer(trunk + text_of(300, branch), "", kStreaming).cache.reused);
  }
  EXPECT_EQ(reused, (std::vector<int64_t>{0, 512, 640}));
}

TEST(CacheUse, AMethodOfTurnsResumesAtTheirEnds) {
  CacheServer server(settings_with({.group = ResumeGroup::kTurn}));
  const Tokens first = text_of(1'000, 1);
  const auto method = [](Job& job) { job.attention = MethodSpec::parse("infllm"); };
  server.answer(first, "", method);
  const JobReport next = server.answer(first + text_of(100, 2), "", method);
  EXPECT_EQ(next.cache.reused, 1'000);
  EXPECT_FALSE(next.cache.exact);
  const JobReport cut = server.answer(Tokens(first.begin(), first.begin() + 900), "", method);
  EXPECT_EQ(cut.cache.reused, 0);
  EXPECT_EQ(cut.cache.reason, MissReason::kMethod);
  EXPECT_EQ(cut.cache.reusable, 900);
}

TEST(CacheUse, ExactCachesReuseNoDecodedTokens) {
  for (const bool exact : {false, true}) {
    SchedulerOptions options;
    options.exact_cache = exact;
    MockSettings settings;
    settings.next = [](std::span<const int32_t>) { return 777; };
    CacheServer server(settings, options);
    const Tokens first = text_of(500, 1);
    server.answer(first);
    const JobReport next = server.answer(first + Tokens(4, 777) + text_of(50, 2));
    EXPECT_EQ(next.cache.reused, exact ? 500 : 503) << "the last token was never decoded";
    EXPECT_EQ(next.cache.exact, exact);
  }
}

TEST(CacheUse, ARepeatedPromptReadsNothing) {
  CacheServer server;
  const Tokens prompt = text_of(500, 1);
  server.answer(prompt);
  const JobReport again = server.answer(prompt);
  EXPECT_EQ(again.cache.reused, 500);
  EXPECT_EQ(server.metrics.value("longhaul_prompt_tokens_total", "source=\"read\""), 500);
  EXPECT_EQ(again.reply_tokens, 4);
}

TEST(CacheUse, AtLeastSixteenTokensAreReadAgain) {
  CacheServer server;
  const Tokens prompt = text_of(500, 1);
  server.answer(prompt);
  EXPECT_EQ(server.answer(Tokens(prompt.begin(), prompt.begin() + 400)).cache.reused, 384);
  EXPECT_EQ(server.answer(prompt + text_of(3, 2)).cache.reused, 487);
}

TEST(CacheUse, AnAbandonedPrefillStaysAsFarAsItGot) {
  CacheServer server;
  const Tokens prompt = text_of(20'000, 1);
  CancelFlag* flag = nullptr;
  server.send(prompt, "", [&](Job& job) { flag = &job.cancel; });
  for (int i = 0; i < 10; ++i) server.scheduler.turn();
  flag->request();
  server.run();
  const double read = server.metrics.value("longhaul_prompt_tokens_total", "source=\"read\"");
  ASSERT_GT(read, 1000);
  const JobReport again = server.answer(prompt);
  EXPECT_EQ(again.cache.reused, static_cast<int64_t>(read));
  EXPECT_TRUE(again.cache.exact);
}

/// Conversations of several users take turns at random, as in llama.cpp's #27148, where one
/// received the contents of another.
TEST(CacheUse, MixedConversationsNeverGetEachOthersTokens) {
  std::vector<Tokens> prompts;
  MockSettings settings;
  settings.rule = {.group = ResumeGroup::kTurn};
  int foreign = 0;
  settings.next = [&](std::span<const int32_t> tokens) {
    const bool known = std::ranges::any_of(prompts, [&](const Tokens& prompt) {
      return prompt.size() <= tokens.size() &&
             std::equal(prompt.begin(), prompt.end(), tokens.begin());
    });
    foreign += known ? 0 : 1;
    return static_cast<int32_t>(300 + tokens.size() % 7);
  };
  SchedulerOptions options;
  options.memory_limit = 12'000 * size_t{1024};  // small enough for evictions
  CacheServer server(settings, options);
  std::mt19937 random(3);
  const Tokens system = text_of(100, 99);
  std::vector<Tokens> conversations(9, system);
  std::vector<std::shared_ptr<testing_support::LastReport>> sinks;
  for (int round = 0; round < 200; ++round) {
    Tokens& talk = conversations[random() % conversations.size()];
    talk = talk + text_of(static_cast<int>(20 + random() % 60), random());
    if (talk.size() > 1500) talk = system;
    prompts.push_back(talk);
    const bool turns = random() % 2 == 0;
    sinks.push_back(server.send(talk, std::to_string(random() % 2), [&](Job& job) {
      if (turns) job.attention = MethodSpec::parse("infllm");
    }));
    for (int i = static_cast<int>(random() % 30); i > 0; --i) server.scheduler.turn();
    ASSERT_LE(server.engine.live_bytes(), options.memory_limit);
  }
  server.run();
  for (const auto& sink : sinks) EXPECT_EQ(sink->error.status, 0) << sink->error.message;
  EXPECT_EQ(foreign, 0);
  EXPECT_GT(server.metrics.value("longhaul_cache_evictions_total"), 0);
}

/// llama.cpp's #28139: a free slot was used although another one had the prompt.
TEST(CacheUse, AConversationIsFoundHoweverManyPlacesAreFree) {
  SchedulerOptions options;
  options.running = 8;
  CacheServer server({}, options);
  const Tokens first = text_of(3'000, 1);
  server.answer(first);
  server.answer(text_of(50, 2));
  EXPECT_EQ(server.answer(first + text_of(30, 3)).cache.reused, 3'000);
}

TEST(CacheUse, KeysSeeNeitherEachOthersTimesNorWords) {
  CacheServer server;
  const Tokens secret = text_of(5'000, 1);
  const JobReport first = server.answer(secret, "alice");
  const JobReport other = server.answer(secret, "bob");
  EXPECT_NEAR(other.first_token_seconds, first.first_token_seconds, 1e-9);
  EXPECT_NEAR(other.prefill_seconds, first.prefill_seconds, 1e-9);
  EXPECT_EQ(other.cache.reused, 0);
  EXPECT_EQ(other.cache.reusable, 0);
  EXPECT_EQ(other.cache.reason, MissReason::kFirst);
  Tokens changed = secret;
  changed[10] = 299;
  const JobReport probe = server.answer(changed, "eve");
  EXPECT_EQ(probe.cache.cached_text, "");
  EXPECT_EQ(probe.cache.reason, MissReason::kFirst);
  const JobReport salted =
      server.answer(secret, "alice", [](Job& job) { job.cache_salt = "tenant"; });
  EXPECT_EQ(salted.cache.reused, 0);
  EXPECT_LT(server.answer(secret, "alice").prefill_seconds, first.prefill_seconds / 10);
}

TEST(CacheUse, KeysMayShareWithoutSeeingWords) {
  SchedulerOptions options;
  options.share_cache = true;
  CacheServer server({}, options);
  const Tokens prompt = text_of(5'000, 1);
  server.answer(prompt, "alice");
  Tokens changed = prompt;
  changed[3'000] = 299;
  const JobReport report = server.answer(changed, "bob");
  EXPECT_EQ(report.cache.reused, 3'000);
  EXPECT_EQ(report.cache.cached_text, "") << "the words stay those of the key";
}

TEST(CacheUse, AVolatileLineIsNamed) {
  CacheServer server;
  const auto encode = [](const std::string& text) {
    return nano_tokenizer().encode(text, {.add_special = false});
  };
  const Tokens rest = text_of(2'000, 1);
  const std::vector<PromptPart> parts = {{"system message", 0}, {"message 2 (user)", 4'000}};
  const auto named = [&](Job& job) {
    job.parts = parts;
    job.instruction = 20;
  };
  const std::string intro = "You are a careful helper who reads long files for engineers. ";
  server.answer(encode(intro + "cch=9f3 and so on.") + rest, "", named);
  const JobReport report = server.answer(encode(intro + "cch=ab1 and so on.") + rest, "", named);
  EXPECT_EQ(report.cache.reason, MissReason::kText);
  EXPECT_EQ(report.cache.message, "system message");
  EXPECT_TRUE(report.cache.cached_text.starts_with("cch=9f3")) << report.cache.cached_text;
  EXPECT_TRUE(report.cache.request_text.starts_with("cch=ab1")) << report.cache.request_text;
  const std::string line = log_line(report.cache, report.prompt_tokens);
  EXPECT_TRUE(line.starts_with("reread 2,0")) << line;
  EXPECT_NE(line.find("system message, \"cch=ab1"), std::string::npos) << line;
  EXPECT_NE(line.find("was \"cch=9f3"), std::string::npos) << line;
  EXPECT_EQ(server.metrics.value("longhaul_cache_misses_total", "why=\"text\""), 1);
}

TEST(CacheUse, AnEvictedPromptSaysSo) {
  SchedulerOptions options;
  options.memory_limit = 8'000 * size_t{1024};
  CacheServer server({}, options);
  const Tokens one = text_of(3'000, 1), two = text_of(3'000, 2), three = text_of(3'000, 3);
  server.answer(one);
  server.answer(two);
  server.answer(three);
  const JobReport report = server.answer(one + text_of(50, 4));
  EXPECT_EQ(report.cache.reused, 0);
  EXPECT_EQ(report.cache.reason, MissReason::kEvicted);
  EXPECT_EQ(report.cache.reusable, 3'000);
}

TEST(CacheUse, TheCacheHasALimitOfItsOwn) {
  SchedulerOptions options;
  options.cache_memory = 10'000 * size_t{1024};
  CacheServer server({}, options);
  for (unsigned i = 0; i < 20; ++i) {
    server.answer(text_of(2'000, i));
    ASSERT_LE(server.engine.live_bytes(), options.cache_memory);
  }
  EXPECT_GT(server.engine.live_bytes(), 6'000 * size_t{1024});
}

TEST(CacheUse, SixteenForksShareOneDocument) {
  SchedulerOptions options;
  options.running = 16;
  options.memory_limit = 40'000 * size_t{1024};  // a document of 20,000 tokens fits once or twice
  options.cache_memory = 30'000 * size_t{1024};
  CacheServer server({}, options);
  const Tokens document = text_of(20'000, 1);
  server.answer(document + text_of(50, 2));
  std::vector<std::shared_ptr<testing_support::LastReport>> sinks;
  for (unsigned i = 0; i < 16; ++i) {
    sinks.push_back(server.send(document + text_of(50, 100 + i), "",
                                [](Job& job) { job.reply.max_tokens = 200; }));
  }
  for (int i = 0; i < 40; ++i) server.scheduler.turn();
  EXPECT_EQ(server.scheduler.running(), 16) << "all of them at the same time";
  EXPECT_LT(server.engine.live_bytes(), 26'000 * size_t{1024});
  server.run();
  for (const auto& sink : sinks) EXPECT_EQ(sink->report.cache.reused, 20'000);
}

}  // namespace
}  // namespace longhaul::serve
