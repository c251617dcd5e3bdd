#pragma once
// A scheduler with an engine that has a clock of its own.

#include <gtest/gtest.h>

#include <random>

#include "serve/scheduler/mock_engine.h"
#include "serve/scheduler/scheduler.h"
#include "tokenizer/load_tokenizer.h"

namespace longhaul::serve::testing_support {

inline const Tokenizer& nano_tokenizer() {
  static const Tokenizer made = load_tokenizer_folder(std::string(LONGHAUL_MODELS) + "/nano");
  return made;
}

/// Tokens without a pattern; another seed gives others.
inline std::vector<int32_t> text_of(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> tokens;
  while (count-- > 0) tokens.push_back(300 + static_cast<int32_t>(random() % 3000));
  return tokens;
}

/// The tokens of both, one after the other.
inline std::vector<int32_t> operator+(std::vector<int32_t> a, const std::vector<int32_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// The last report and error of a job.
struct LastReport : JobSink {
  void progress(const PromptProgress&) override {}
  void prompt_tokens(std::vector<TokenReport>) override {}
  void piece(int, const ReplyPiece&, const JobReport&) override {}
  void done(const JobReport& r) override {
    report = r;
    ended = true;
  }
  void failed(const JobError& e) override {
    error = e;
    ended = true;
  }
  JobReport report;
  JobError error{0};
  bool ended = false;
};

class CacheServer {
 public:
  using Tokens = std::vector<int32_t>;

  explicit CacheServer(MockSettings settings = {}, SchedulerOptions options = {})
      : engine(with_vocab(std::move(settings))),
        scheduler(engine, nano_tokenizer(), with_limit(std::move(options)), metrics) {}

  std::shared_ptr<LastReport> send(const Tokens& prompt, const std::string& key = "",
                                   const std::function<void(Job&)>& change = {}) {
    const auto job = std::make_shared<Job>();
    const auto sink = std::make_shared<LastReport>();
    job->prompt = prompt;
    job->key = key;
    job->reply.max_tokens = 4;
    job->sink = sink;
    if (change) change(*job);
    EXPECT_FALSE(scheduler.submit(job));
    return sink;
  }
  void run() {
    while (!scheduler.idle()) scheduler.turn();
  }
  /// One job alone.
  JobReport answer(const Tokens& prompt, const std::string& key = "",
                   const std::function<void(Job&)>& change = {}) {
    const auto sink = send(prompt, key, change);
    run();
    EXPECT_EQ(sink->error.status, 0) << sink->error.message;
    return sink->report;
  }

  Metrics metrics;
  MockEngine engine;
  Scheduler scheduler;

 private:
  static MockSettings with_vocab(MockSettings settings) {
    settings.vocab = 4096;
    return settings;
  }
  static SchedulerOptions with_limit(SchedulerOptions options) {
    if (options.memory_limit == 0) options.memory_limit = size_t{1} << 40;
    return options;
  }
};

}  // namespace longhaul::serve::testing_support
