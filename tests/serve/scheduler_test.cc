// The scheduler against an engine with a clock of its own.

#include "serve/scheduler/scheduler.h"

#include <gtest/gtest.h>

#include <random>

#include "serve/scheduler/mock_engine.h"
#include "tokenizer/load_tokenizer.h"

namespace longhaul::serve {
namespace {

const Tokenizer& tokenizer() {
  static const Tokenizer made = load_tokenizer_folder(std::string(LONGHAUL_MODELS) + "/nano");
  return made;
}

/// Notes what comes, and when.
struct Log : JobSink {
  explicit Log(const MockEngine& e) : engine(e) {}
  void progress(const PromptProgress& p) override { progresses.push_back(p); }
  void prompt_tokens(std::vector<TokenReport> tokens) override { prompt = std::move(tokens); }
  void piece(int choice, const ReplyPiece& piece, const JobReport&) override {
    times.push_back(engine.now());
    texts[choice] += piece.text;
    finish = piece.finish;
  }
  void done(const JobReport& r) override {
    report = r;
    ended = engine.now();
  }
  void failed(const JobError& e) override {
    error = e;
    ended = engine.now();
  }
  bool full() const override { return stuck; }

  const MockEngine& engine;
  std::vector<PromptProgress> progresses;
  std::vector<TokenReport> prompt;
  std::vector<double> times;
  std::map<int, std::string> texts;
  Finish finish = Finish::kNone;
  JobReport report;
  JobError error{0};
  double ended = -1;
  bool stuck = false;
};

class SchedulerTest : public ::testing::Test {
 protected:
  void start(MockSettings settings = {}, SchedulerOptions options = {}) {
    settings.vocab = 4096;
    if (options.memory_limit == 0) options.memory_limit = size_t{1} << 40;
    engine_ = std::make_unique<MockEngine>(settings);
    scheduler_ = std::make_unique<Scheduler>(*engine_, tokenizer(), options, metrics_);
  }

  struct Sent {
    std::shared_ptr<Job> job;
    std::shared_ptr<Log> log;
  };
  Sent send(int64_t prompt, int64_t reply, const std::function<void(Job&)>& change = {}) {
    auto job = std::make_shared<Job>();
    const auto log = std::make_shared<Log>(*engine_);
    for (int64_t i = 0; i < prompt; ++i) {
      job->prompt.push_back(
          static_cast<int32_t>(300 + (i * 7 + static_cast<int64_t>(sent_)) % 3000));
    }
    ++sent_;
    job->reply.max_tokens = reply;
    job->sink = log;
    if (change) change(*job);
    if (const auto error = scheduler_->submit(job)) log->failed(*error);
    return {job, log};
  }

  void run_all(int most = 1'000'000) {
    while (most-- > 0 && !scheduler_->idle()) {
      if (!scheduler_->turn() && scheduler_->idle()) return;
    }
    EXPECT_TRUE(scheduler_->idle());
  }

  Metrics metrics_;
  std::unique_ptr<MockEngine> engine_;
  std::unique_ptr<Scheduler> scheduler_;
  size_t sent_ = 0;
};

/// Looks at the scheduler at the moment in which the client learns of the end.
struct LastEnd : JobSink {
  LastEnd(const Scheduler& s, const Metrics& m) : scheduler(s), metrics(m) {}
  virtual void look() = 0;
  void progress(const PromptProgress&) override {}
  void prompt_tokens(std::vector<TokenReport>) override {}
  void piece(int, const ReplyPiece&, const JobReport&) override {}
  void done(const JobReport&) override { end(); }
  void failed(const JobError&) override { end(); }
  void end() {
    ++ends;
    look();
  }
  const Scheduler& scheduler;
  const Metrics& metrics;
  int ends = 0;
};

double longest_gap(const std::vector<double>& times) {
  double longest = 0;
  for (size_t i = 1; i < times.size(); ++i) longest = std::max(longest, times[i] - times[i - 1]);
  return longest;
}

TEST_F(SchedulerTest, AnswersOneRequest) {
  start();
  const Sent one = send(100, 5);
  run_all();
  EXPECT_EQ(one.log->error.status, 0) << one.log->error.message;
  EXPECT_EQ(one.log->report.prompt_tokens, 100);
  EXPECT_EQ(one.log->report.reply_tokens, 5);
  EXPECT_EQ(one.log->finish, Finish::kLength);
  EXPECT_GT(one.log->report.prefill_seconds, 0);
}

TEST_F(SchedulerTest, RepliesGoOnBesideALongPrompt) {
  MockSettings settings;
  settings.layer_seconds = 0.030;
  start(settings);
  const Sent reply = send(20, 2000);
  for (int i = 0; i < 10; ++i) scheduler_->turn();
  const Sent large = send(20'000, 1);
  run_all();
  ASSERT_EQ(large.log->error.status, 0);
  // A layer, a step, and a layer's time for the prompt.
  EXPECT_LE(longest_gap(reply.log->times), 0.08);
}

/// How much longer a prompt takes beside four replies than alone, and their longest gap.
struct Shared {
  double slower = 0, gap = 0;
};

class PauseTest : public SchedulerTest {
 protected:
  Shared shared(double layer, double step, const DecodePause& pause = {}) {
    MockSettings settings;
    settings.layer_seconds = layer;
    settings.layer_seconds_depth = 0;
    settings.decode_seconds = step;
    settings.decode_seconds_row = 0;
    SchedulerOptions options;
    options.pause = pause;
    const auto time = [&](int replies, double* gap) {
      start(settings, options);
      std::vector<Sent> all;
      for (int i = 0; i < replies; ++i) all.push_back(send(20, 100'000));
      for (int i = 0; i < 20; ++i) scheduler_->turn();
      const size_t before = all.empty() ? 0 : all[0].log->times.size() - 1;
      const Sent prompt = send(20'000, 1);
      const double began = engine_->now();
      while (prompt.log->ended < 0) scheduler_->turn();
      for (const Sent& reply : all) {
        const std::vector<double>& times = reply.log->times;
        *gap = std::max(*gap,
                        longest_gap({times.begin() + static_cast<ptrdiff_t>(before), times.end()}));
      }
      return prompt.log->ended - began;
    };
    Shared result;
    const double alone = time(0, nullptr);
    result.slower = time(4, &result.gap) / alone - 1;
    return result;
  }
};

TEST_F(PauseTest, RepliesTakeATenthOfTheTime) {
  for (const double step : {0.0005, 0.002, 0.004, 0.010, 0.020}) {
    for (const double layer : {0.001, 0.007, 0.030, 0.300}) {
      const Shared both = shared(layer, step);
      EXPECT_LE(both.slower, 0.102) << "layer " << layer << ", step " << step;
      const double pause = std::max(0.020, 10 * step);
      EXPECT_LE(both.gap, pause + layer + step + 1e-6) << "layer " << layer << ", step " << step;
    }
  }
}

/// Longer steps take more of the time, so that gaps stay short: at most half of it.
TEST_F(PauseTest, SlowRepliesWaitAFifthOfASecondOrAStep) {
  for (const double layer : {0.002, 0.150}) {
    const Shared slow = shared(layer, 0.050);
    EXPECT_LE(slow.gap, 0.200 + layer + 0.050 + 1e-6);
    EXPECT_LE(slow.slower, 0.26);
    const Shared slower = shared(layer, 0.500);
    EXPECT_LE(slower.gap, 0.500 + layer + 0.500 + 1e-6);
    EXPECT_LE(slower.slower, 1.02);
  }
}

TEST_F(PauseTest, AGivenIntervalDoesNotDependOnTheStep) {
  const Shared fixed = shared(0.001, 0.004, {.least = 0.020, .most = 0.020});
  EXPECT_LE(fixed.gap, 0.020 + 0.001 + 0.004 + 1e-6);
  EXPECT_GT(fixed.slower, 0.15);
}

TEST_F(SchedulerTest, AShortPromptRunsBetweenTheLayersOfALongOne) {
  MockSettings settings;
  settings.layer_seconds = 0.030;
  start(settings);
  const Sent large = send(20'000, 1);
  scheduler_->turn();
  const double asked = engine_->now();
  const Sent small = send(200, 1);
  run_all();
  EXPECT_LT(small.log->ended - asked, 1.5);
  EXPECT_GT(large.log->ended - asked, 5);
}

TEST_F(SchedulerTest, TwoLongPromptsShareTheTime) {
  start();
  const Sent first = send(20'000, 1);
  scheduler_->turn();
  const Sent second = send(5'000, 1);
  run_all();
  EXPECT_LT(second.log->ended, first.log->ended) << "the shorter one ends first";
}

TEST_F(SchedulerTest, ReportsProgress) {
  start();
  const Sent one = send(5000, 1, [](Job& job) { job.progress = true; });
  run_all();
  ASSERT_GE(one.log->progresses.size(), 2U);
  EXPECT_EQ(one.log->progresses.front().processed, 0);
  EXPECT_EQ(one.log->progresses.back().processed, 5000);
}

TEST_F(SchedulerTest, CancelsInEveryPhase) {
  SchedulerOptions options;
  options.running = 1;
  start({}, options);
  const Sent reading = send(5000, 10);
  const Sent waiting = send(100, 10);
  scheduler_->turn();
  reading.job->cancel.request();
  waiting.job->cancel.request();
  run_all();
  EXPECT_EQ(reading.log->error.code, "cancelled");
  EXPECT_EQ(waiting.log->error.code, "cancelled");
  const Sent replying = send(100, 1000);
  for (int i = 0; i < 20; ++i) scheduler_->turn();
  replying.job->cancel.request();
  const double asked = engine_->now();
  run_all();
  EXPECT_LT(engine_->now() - asked, 0.01);
  EXPECT_LT(replying.log->report.reply_tokens, 1000);
}

/// A client that learns of the end finds its place free at once.
TEST_F(SchedulerTest, AnEndedJobIsNoLongerPublishedAsRunning) {
  struct Asking : LastEnd {
    using LastEnd::LastEnd;
    void look() override {
      running = scheduler.running();
      for (const Scheduler::Slot& slot : scheduler.slots()) busy += slot.processing ? 1 : 0;
      counted = metrics.value("longhaul_running", "");
    }
    int running = -1, busy = 0;
    double counted = -1;
  };
  MockSettings settings;
  settings.fault = [](std::span<const int32_t> tokens) {
    if (tokens.size() == 560) throw std::runtime_error("the disk is full");
  };
  start(settings);
  std::vector<std::shared_ptr<Asking>> all;
  const auto ask = [&](int64_t prompt, int64_t reply) {
    const auto sink = std::make_shared<Asking>(*scheduler_, metrics_);
    all.push_back(sink);
    return send(prompt, reply, [&](Job& job) { job.sink = sink; });
  };
  ask(100, 5);
  run_all();
  ask(550, 50);  // fails
  run_all();
  const Sent reading = ask(5000, 5);
  scheduler_->turn();
  reading.job->cancel.request();
  run_all();
  const Sent replying = ask(100, 1000);
  for (int i = 0; i < 20; ++i) scheduler_->turn();
  ASSERT_EQ(scheduler_->running(), 1);
  replying.job->cancel.request();
  run_all();
  for (const auto& sink : all) {
    ASSERT_EQ(sink->ends, 1);
    EXPECT_EQ(sink->running, 0);
    EXPECT_EQ(sink->busy, 0);
    EXPECT_EQ(sink->counted, 0);
  }
}

/// A reply that begins and ends between the layers of a long prompt changes the published figures.
TEST_F(SchedulerTest, PublishesBetweenTheLayersOfAPrompt) {
  MockSettings settings;
  settings.layer_seconds = 0.030;
  start(settings);
  send(20'000, 1);
  scheduler_->turn();
  struct Counting : LastEnd {
    using LastEnd::LastEnd;
    void piece(int, const ReplyPiece&, const JobReport&) override {
      most = std::max(most, scheduler.running());
    }
    void look() override { at_end = scheduler.running(); }
    int most = 0, at_end = -1;
  };
  const auto small = std::make_shared<Counting>(*scheduler_, metrics_);
  send(100, 3, [&](Job& job) { job.sink = small; });
  run_all();
  EXPECT_EQ(small->most, 2);
  EXPECT_EQ(small->at_end, 1);
}

TEST_F(SchedulerTest, AFailureConcernsOneRequestOnly) {
  MockSettings settings;
  settings.fault = [](std::span<const int32_t> tokens) {
    if (tokens.size() == 60) throw std::runtime_error("the disk is full");
  };
  start(settings);
  const Sent bad = send(50, 100), good = send(100, 100);
  run_all();
  EXPECT_EQ(bad.log->error.status, 500);
  EXPECT_EQ(bad.log->error.code, "engine_failed");
  EXPECT_EQ(good.log->report.reply_tokens, 100);
}

TEST_F(SchedulerTest, RefusesWhatCanNeverFit) {
  SchedulerOptions options;
  options.context = 1000;
  options.memory_limit = 500 * 1024;
  options.offers = {MethodSpec::parse("streamingllm")};
  start({}, options);
  const Sent too_long = send(990, 20), too_large = send(900, 10), fits = send(100, 10);
  run_all();
  EXPECT_EQ(too_long.log->error.code, "context_length_exceeded");
  EXPECT_NE(too_long.log->error.message.find("maximum context length is 1000 tokens"),
            std::string::npos);
  EXPECT_EQ(too_large.log->error.code, "insufficient_memory");
  EXPECT_EQ(too_large.log->error.limit, options.memory_limit);
  EXPECT_EQ(fits.log->error.status, 0);
}

TEST_F(SchedulerTest, WaitsForMemoryInsteadOfExceedingIt) {
  SchedulerOptions options;
  options.memory_limit = 2500 * 1024;
  start({}, options);
  std::vector<Sent> all;
  for (int i = 0; i < 6; ++i) all.push_back(send(1000, 50));
  while (!scheduler_->idle()) {
    scheduler_->turn();
    ASSERT_LE(engine_->live_bytes(), options.memory_limit);
  }
  for (const Sent& sent : all) EXPECT_EQ(sent.log->report.reply_tokens, 50);
}

TEST_F(SchedulerTest, AReplyWithoutALimitEndsWhereMemoryDoes) {
  SchedulerOptions options;
  options.memory_limit = 3000 * 1024;
  options.open_reply = 100;
  MockSettings settings;
  settings.next = [](std::span<const int32_t> tokens) {  // repeats nothing
    return static_cast<int32_t>(300 + (tokens.size() * tokens.size()) % 3001);
  };
  start(settings, options);
  const Sent one = send(1000, -1);
  run_all();
  EXPECT_EQ(one.log->finish, Finish::kMemory);
  EXPECT_EQ(one.log->report.warnings, std::vector<std::string>{"memory"});
  EXPECT_GE(one.log->report.reply_tokens, 1800);
}

TEST_F(SchedulerTest, AContinuedConversationReadsOnlyItsNewTokens) {
  start();
  const Sent first = send(1000, 10);
  run_all();
  std::vector<int32_t> longer = first.job->prompt;
  for (int i = 0; i < 50; ++i) longer.push_back(301);
  const Sent second = send(0, 5, [&](Job& job) { job.prompt = longer; });
  const Sent other = send(0, 5, [&](Job& job) {
    job.prompt = longer;
    job.key = "another key";
  });
  run_all();
  EXPECT_EQ(second.log->report.cached_tokens, 1000);
  EXPECT_EQ(other.log->report.cached_tokens, 0) << "what another key has read stays its own";
}

TEST_F(SchedulerTest, SeveralChoicesReadThePromptOnce) {
  for (const bool clones : {true, false}) {
    MockSettings settings;
    settings.clones = clones;
    start(settings);
    const Sent one = send(600, 7, [](Job& job) { job.choices = 3; });
    run_all();
    EXPECT_EQ(one.log->texts.size(), 3U);
    EXPECT_EQ(one.log->report.reply_tokens, 21);
    EXPECT_EQ(metrics_.value("longhaul_prompt_tokens_total", "source=\"read\""),
              clones ? 600 : 2400);
  }
}

TEST_F(SchedulerTest, TheQueueIsBounded) {
  SchedulerOptions options;
  options.queued = 3;
  options.keys["k"] = {1, 2};
  start({}, options);
  const auto of_key = [](Job& job) { job.key = "k"; };
  send(10, 1, of_key);
  send(10, 1, of_key);
  EXPECT_EQ(send(10, 1, of_key).log->error.status, 429);
  send(10, 1);
  EXPECT_EQ(send(10, 1).log->error.code, "overloaded");
  run_all();
  EXPECT_EQ(send(10, 1).log->error.status, 0);
  run_all();
}

TEST_F(SchedulerTest, AClientThatDoesNotReadHoldsUpNobody) {
  start();
  const Sent slow = send(10, 100), quick = send(10, 100);
  for (int i = 0; i < 5; ++i) scheduler_->turn();
  slow.log->stuck = true;
  for (int i = 0; i < 1000 && quick.log->ended < 0; ++i) scheduler_->turn();
  EXPECT_GT(quick.log->ended, 0);
  EXPECT_LT(slow.log->ended, 0);
  slow.log->stuck = false;
  run_all();
  EXPECT_EQ(slow.log->report.reply_tokens, 100);
}

/// An engine whose device computes a step between the two halves.
struct AsideEngine : MockEngine {
  using MockEngine::MockEngine;
  bool begin_decode(std::span<DecodeEntry> entries,
                    const std::function<void()>& before_choice) override {
    aside = true;
    return MockEngine::begin_decode(entries, before_choice);
  }
  void end_decode() override {
    aside = false;
    MockEngine::end_decode();
  }
  bool aside = false;
};

/// Counts the pieces that come while a step is computed. It has enough after `most` pieces.
struct AsideSink : JobSink {
  explicit AsideSink(const AsideEngine& e) : engine(e) {}
  void progress(const PromptProgress&) override {}
  void prompt_tokens(std::vector<TokenReport>) override {}
  void piece(int, const ReplyPiece& piece, const JobReport&) override {
    ++pieces;
    beside += engine.aside ? 1 : 0;
    text += piece.text;
    finish = piece.finish;
  }
  void done(const JobReport&) override {
    EXPECT_FALSE(engine.aside) << "a step may compute the job's sequence";
    EXPECT_NE(finish, Finish::kNone);
    ++ends;
  }
  void failed(const JobError& error) override {
    code = error.code;
    ++ends;
  }
  bool enough(int) const override { return pieces >= most; }
  const AsideEngine& engine;
  int pieces = 0, beside = 0, ends = 0, most = 1000;
  Finish finish = Finish::kNone;
  std::string text, code;
};

class AsideTest : public SchedulerTest {
 protected:
  std::vector<std::shared_ptr<AsideSink>> reply(int count, bool aside,
                                                const std::function<void(int, AsideSink&)>& set) {
    MockSettings settings;
    settings.vocab = 4096;
    settings.decodes_aside = aside;
    engine = std::make_unique<AsideEngine>(settings);
    Scheduler scheduler(*engine, tokenizer(), {.memory_limit = size_t{1} << 40, .running = 64},
                        metrics_);
    std::vector<std::shared_ptr<AsideSink>> sinks;
    for (int i = 0; i < count; ++i) {
      auto job = std::make_shared<Job>();
      for (int t = 0; t < 40 + i; ++t) job->prompt.push_back(300 + (t * 7 + i) % 3000);
      job->reply.max_tokens = 10 + i;
      sinks.push_back(std::make_shared<AsideSink>(*engine));
      job->sink = sinks.back();
      set(i, *sinks.back());
      EXPECT_FALSE(scheduler.submit(job));
    }
    while (!scheduler.idle()) scheduler.turn();
    return sinks;
  }
  std::unique_ptr<AsideEngine> engine;
};

TEST_F(AsideTest, ManyPiecesAreGivenWhileTheNextStepIsComputed) {
  const auto plain = reply(20, false, [](int, AsideSink&) {});
  const auto beside = reply(20, true, [](int, AsideSink&) {});
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(plain[i]->beside, 0);
    EXPECT_EQ(beside[i]->text, plain[i]->text);
    EXPECT_EQ(beside[i]->pieces, plain[i]->pieces);
    EXPECT_EQ(beside[i]->ends, 1);
  }
  EXPECT_GE(beside[0]->beside, 5);
  for (const auto& sink : reply(3, true, [](int, AsideSink&) {})) {
    EXPECT_EQ(sink->beside, 0) << "few pieces do not wait";
  }
}

/// Its sequence has then computed one token more. The reply ends after the step.
TEST_F(AsideTest, AReplyMayEndWhileItsNextTokenIsComputed) {
  const auto sinks = reply(20, true, [](int i, AsideSink& sink) { sink.most = 3 + i % 4; });
  for (size_t i = 0; i < sinks.size(); ++i) {
    EXPECT_EQ(sinks[i]->pieces, sinks[i]->most + 1) << i;  // the last piece is the end
    EXPECT_EQ(sinks[i]->finish, Finish::kEnd);
    EXPECT_EQ(sinks[i]->ends, 1);
  }
}

TEST_F(SchedulerTest, TellsTheLogprobsOfAPrompt) {
  start();
  const Sent one = send(700, 0, [](Job& job) {
    job.prompt_logprobs = true;
    job.reply.logprobs = 2;
  });
  run_all();
  ASSERT_EQ(one.log->prompt.size(), 700U);
  EXPECT_EQ(one.log->prompt[5].id, one.job->prompt[5]);
  EXPECT_NEAR(one.log->prompt[5].logprob, -std::log(4096.0), 1e-4);
  EXPECT_EQ(one.log->prompt[5].best.size(), 2U);
}

/// Hours of traffic of every kind in seconds: nobody starves, no reservation is lost, and memory
/// stays below its limit at every step.
TEST_F(SchedulerTest, Simulation) {
  SchedulerOptions options;
  options.memory_limit = 400'000 * size_t{1024};
  options.context = 200'000;
  options.queued = 100'000;
  MockSettings settings;
  settings.vocab = 4096;
  settings.layer_seconds = 0.020;
  settings.layer_seconds_depth = 5e-7;
  start(settings, options);
  std::mt19937 random(20'261'127);
  const auto draw = [&](double most) {
    return std::uniform_real_distribution<double>(0, most)(random);
  };
  constexpr int kRequests = 2'000;
  std::vector<std::pair<Sent, double>> all;
  double next = 0;
  while (static_cast<int>(all.size()) < kRequests || !scheduler_->idle()) {
    while (static_cast<int>(all.size()) < kRequests && engine_->now() >= next) {
      const double kind = draw(1);
      const auto prompt = static_cast<int64_t>(kind < 0.02  ? 20'000 + draw(80'000)
                                               : kind < 0.3 ? 1'000 + draw(4'000)
                                                            : 10 + draw(400));
      Sent sent = send(prompt, kind > 0.9 ? -1 : static_cast<int64_t>(draw(200)));
      sent.job->key = std::to_string(static_cast<int>(draw(5)));
      all.emplace_back(sent, engine_->now());
      next += draw(3);
    }
    if (!all.empty() && draw(1) < 0.002) {
      all[static_cast<size_t>(draw(static_cast<double>(all.size())))].first.job->cancel.request();
    }
    if (!scheduler_->turn()) engine_->pass(0.01);
    ASSERT_LE(engine_->live_bytes(), options.memory_limit);
  }
  scheduler_->turn();
  double longest = 0;
  for (const auto& [sent, when] : all) {
    ASSERT_GE(sent.log->ended, 0) << "a request never ended";
    EXPECT_NE(sent.log->error.status, 500) << sent.log->error.message;
    if (sent.job->prompt.size() <= 400) longest = std::max(longest, sent.log->ended - when);
  }
  EXPECT_EQ(scheduler_->bytes_reserved(), 0U);
  EXPECT_EQ(scheduler_->running(), 0);
  EXPECT_GT(longest, 0);
}

}  // namespace
}  // namespace longhaul::serve
