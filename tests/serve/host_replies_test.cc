// Replies of a server whose device has little room, so that snapshots move to host memory, to disk
// and back. They have the bits of a server whose cache stays on the device, for every setting of
// the registry.

#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

#include "attention/settings.h"
#include "attention/test_name.h"
#include "base/error.h"
#include "format/temp_folder.h"
#include "ops/fake_side_copies.h"
#include "serve/scheduler/scheduler.h"
#include "serve/scheduler/sequence_engine.h"

namespace longhaul::serve {
namespace {

using longhaul::testing_support::add_side_copies;
using longhaul::testing_support::CopyControl;
using longhaul::testing_support::FakeDevice;
using longhaul::testing_support::TempFolder;
using Tokens = std::vector<int32_t>;

constexpr size_t kHostBytes = size_t{256} << 20;

struct DeviceSink : JobSink {
  void progress(const PromptProgress&) override {}
  void prompt_tokens(std::vector<TokenReport>) override {}
  void piece(int, const ReplyPiece& piece, const JobReport&) override {
    for (const TokenReport& token : piece.tokens) {
      for (const TokenChance& chance : token.best) {
        chances.emplace_back(chance.id, chance.logprob);
      }
    }
  }
  void done(const JobReport& r) override { report = r; }
  void failed(const JobError& e) override { error = e.message; }
  std::vector<std::pair<int32_t, float>> chances;  ///< logarithms for all tokens of the vocabulary
  JobReport report;
  std::string error;
};

std::shared_ptr<const Engine> tiny_engine_of(const std::string& model) {
  static std::map<std::string, std::shared_ptr<const Engine>> opened;
  auto& engine = opened[model];
  if (!engine) {
    engine = Engine::open(std::filesystem::path(LONGHAUL_TEST_DATA) / "tiny_models" / model);
  }
  return engine;
}

class DeviceServer {
 public:
  DeviceServer(const std::string& model, bool side_copies, size_t host_bytes, size_t cache_memory)
      : engine_(tiny_engine_of(model)) {
    if (side_copies) control = add_side_copies(*device_);
    SessionOptions options;
    options.queue = Queue(device_);
    options.chunk = 64;
    options.state_every = 50;
    port.emplace(engine_, options, AdapterEngines(), host_bytes);
    SchedulerOptions limits;
    limits.memory_limit = size_t{1} << 33;
    limits.cache_memory = cache_memory;
    limits.cache_grid = 128;
    scheduler.emplace(*port, engine_->tokenizer(), limits, metrics);
  }

  std::shared_ptr<DeviceSink> send(const std::string& spec, const Tokens& prompt,
                                   const std::function<void(Job&)>& change = {}) {
    const auto job = std::make_shared<Job>();
    const auto sink = std::make_shared<DeviceSink>();
    job->attention = MethodSpec::parse(spec).for_model(engine_->model().shape);
    job->prompt = prompt;
    job->instruction = 16;
    job->reply.max_tokens = 3;
    job->reply.ignore_eos = true;
    job->reply.logprobs = engine_->model().config.vocab;
    job->sink = sink;
    if (change) change(*job);
    EXPECT_FALSE(scheduler->submit(job));
    return sink;
  }
  void run() {
    while (!scheduler->idle()) {
      if (!scheduler->turn()) usleep(100);
    }
  }
  std::shared_ptr<DeviceSink> answer(const std::string& spec, const Tokens& prompt) {
    const auto sink = send(spec, prompt);
    run();
    for (int quiet = 0; quiet < 3; ++quiet) {  // until copies have ended
      if (scheduler->turn()) quiet = 0;
      usleep(200);
    }
    return sink;
  }
  double from_host() const {
    return metrics.value("longhaul_prompt_tokens_total", "source=\"host\"");
  }

 private:
  std::shared_ptr<const Engine> engine_;
  std::shared_ptr<FakeDevice> device_ = std::make_shared<FakeDevice>();

 public:
  std::shared_ptr<CopyControl> control;
  Metrics metrics;
  std::optional<SequenceEngine> port;
  std::optional<Scheduler> scheduler;
};

/// Prompts that grow, diverge and repeat, so that every snapshot of a small cache leaves it.
std::vector<Tokens> turns(unsigned seed) {
  std::mt19937 random(seed);
  const auto words = [&](int count) {
    Tokens tokens;
    while (count-- > 0) tokens.push_back(4 + static_cast<int32_t>(random() % 240));
    return tokens;
  };
  const auto longer = [&](Tokens from, int count) {
    const Tokens more = words(count);
    from.insert(from.end(), more.begin(), more.end());
    return from;
  };
  const Tokens a = words(260), b = words(300), c = words(200);
  const Tokens a2 = longer(a, 60), b2 = longer(b, 40);
  return {a, b, c, a2, b2, longer(c, 30), longer(a, 50), longer(a2, 40), b, longer(b2, 33)};
}

class HostReplies : public ::testing::TestWithParam<std::string> {};

TEST_P(HostReplies, HaveTheBitsOfACacheOnTheDevice) {
  for (const std::string model : {"llama_llama3", "qwen3_next"}) {
    if (model == "qwen3_next" && GetParam() != "dense") continue;
    DeviceServer wide(model, false, 0, size_t{1} << 30), narrow(model, true, kHostBytes, 1);
    for (const Tokens& prompt : turns(7)) {
      const auto want = wide.answer(GetParam(), prompt), got = narrow.answer(GetParam(), prompt);
      ASSERT_EQ(got->error, want->error);
      EXPECT_EQ(got->report.cache.reused, want->report.cache.reused);
      ASSERT_EQ(got->chances, want->chances) << "prompt of " << prompt.size();
    }
    if (wide.metrics.value("longhaul_prompt_tokens_total", "source=\"memory\"") > 0) {
      EXPECT_GT(narrow.from_host(), 0);
    }
  }
}

std::vector<std::string> served_settings() {
  std::vector<std::string> all = longhaul::testing_support::covering_settings();
  for (const auto& each : longhaul::testing_support::small_settings()) all.push_back(each.spec);
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
  std::erase_if(all, [&](const std::string& spec) {
    try {
      SessionOptions options;
      options.attention = MethodSpec::parse(spec);
      Sequence(tiny_engine_of("llama_llama3"), options);
      return false;
    } catch (const UserError&) {
      return true;
    }
  });
  return all;
}

INSTANTIATE_TEST_SUITE_P(Registry, HostReplies, ::testing::ValuesIn(served_settings()),
                         [](const auto& test) {
                           return longhaul::testing_support::test_name(test.param) + "_" +
                                  std::to_string(test.index);
                         });

TEST(HostReplies, TwoRequestsForOneSnapshotAndOneForAnother) {
  DeviceServer wide("llama_llama3", false, 0, size_t{1} << 30);
  DeviceServer narrow("llama_llama3", true, kHostBytes, 1);
  const auto all = turns(3);
  for (const Tokens& prompt : {all[0], all[1]}) {
    wide.answer("dense", prompt);
    narrow.answer("dense", prompt);
  }
  narrow.control->hold(true);
  const auto one = narrow.send("dense", all[3]), two = narrow.send("dense", all[6]);
  for (int i = 0; i < 20; ++i) narrow.scheduler->turn();
  EXPECT_TRUE(one->chances.empty()) << "its snapshot is not back yet";
  const auto other = narrow.send("dense", all[2]);
  for (int i = 0; i < 5'000 && other->report.reply_tokens == 0; ++i) narrow.scheduler->turn();
  EXPECT_EQ(other->report.reply_tokens, 3) << "it needs no copy";
  narrow.control->hold(false);
  narrow.run();
  EXPECT_EQ(one->chances, wide.answer("dense", all[3])->chances);
  EXPECT_EQ(two->chances, wide.answer("dense", all[6])->chances);
}

/// The thread of files never uses the device (the fake device asserts that).
TEST(HostReplies, SurviveARestartThroughFiles) {
  const TempFolder folder;
  const auto all = turns(5);
  DeviceServer wide("llama_llama3", false, 0, size_t{1} << 30);
  for (const char* spec : {"dense", "tova:capacity=60,stride=20"}) {
    wide.answer(spec, all[0]);
  }
  const DiskOptions disk{.folder = folder.path(), .fingerprint = 7};
  for (const bool restarted : {false, true}) {
    DeviceServer narrow("llama_llama3", true, restarted ? 0 : kHostBytes, size_t{1} << 30);
    narrow.scheduler->open_disk(disk);
    for (const char* spec : {"dense", "tova:capacity=60,stride=20"}) {
      if (restarted) {
        const auto got = narrow.answer(spec, all[3]);
        EXPECT_EQ(got->report.cache.reused, 260) << spec;
        EXPECT_EQ(got->chances, wide.answer(spec, all[3])->chances) << spec;
        continue;
      }
      std::string saved = "not yet";
      narrow.send(spec, all[0], [&](Job& job) {
        job.pin = spec;
        job.saved = [&](const std::string& error) { saved = error; };
      });
      for (int i = 0; i < 5'000 && saved == "not yet"; ++i) {
        narrow.scheduler->turn();
        usleep(500);
      }
      EXPECT_EQ(saved, "") << spec;
      narrow.run();
    }
  }
}

}  // namespace
}  // namespace longhaul::serve
