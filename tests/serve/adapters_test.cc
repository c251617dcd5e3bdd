// Adapters that clients choose by the model's name: what they see, which prompts share a cache, and
// the bits of replies that are made together.

#include <gtest/gtest.h>

#include "engine/prefill.h"
#include "format/temp_folder.h"
#include "mock_server.h"
#include "scheduler_fixture.h"
#include "serve/scheduler/sequence_engine.h"

namespace longhaul::serve {
namespace {

using longhaul::testing_support::TempFolder;
using testing_support::CacheServer;
using testing_support::LastReport;
using testing_support::MockServer;
using testing_support::nano;
using testing_support::text_of;

class AdapterPages : public ::testing::Test {
 protected:
  AdapterPages() {
    server_.model().adapters = {{"legal", nano()}, {"fr", nano()}};
    server_.model().offers = {MethodSpec::parse("streamingllm")};
  }
  Json chat(const std::string& model) {
    return server_
        .post(
            "/v1/chat/completions",
            {{"model", model}, {"messages", Json::array({{{"role", "user"}, {"content", "Hi"}}})}})
        .json();
  }
  MockServer server_;
};

TEST_F(AdapterPages, ListThem) {
  std::vector<std::string> names;
  const Json models = server_.get("/v1/models").json();
  for (const Json& listed : models["data"]) names.push_back(listed["id"]);
  EXPECT_EQ(names,
            (std::vector<std::string>{"nano", "nano@streamingllm", "nano+fr", "nano+legal"}));
  const Json entry = server_.get("/v1/models/nano+fr").json();
  EXPECT_EQ(entry["longhaul"]["adapter"], "fr");
  EXPECT_EQ(server_.get("/v1/models/nano+de").status, 404);
  EXPECT_EQ(server_.get("/props").json()["longhaul"]["adapters"], Json({"fr", "legal"}));
  const Json llama = server_.get("/lora-adapters").json();
  EXPECT_EQ(llama[1]["id"], 1);
  EXPECT_EQ(llama[1]["path"], "legal");
  EXPECT_EQ(llama[1]["scale"], 0.0);
}

TEST_F(AdapterPages, AreChosenByTheNameOfTheModel) {
  EXPECT_FALSE(chat("nano")["longhaul"].contains("adapter"));
  EXPECT_EQ(chat("nano+fr")["longhaul"]["adapter"], "fr");
  EXPECT_EQ(chat("nano+fr")["model"], "nano+fr");
  EXPECT_EQ(chat("nano+legal:latest")["longhaul"]["adapter"], "legal");
  const Json both = chat("nano+fr@streamingllm");
  EXPECT_EQ(both["longhaul"]["adapter"], "fr");
  EXPECT_EQ(both["longhaul"]["attention"], MethodSpec::parse("streamingllm").text());
}

TEST_F(AdapterPages, AnUnknownOneIsRefusedWithTheList) {
  for (const char* name : {"nano+de", "nano+", "other+fr", "nano+de@streamingllm"}) {
    const Json error = chat(name)["error"];
    EXPECT_EQ(error["code"], "model_not_found") << name;
    EXPECT_NE(
        error["message"].get<std::string>().find("nano, nano@streamingllm, nano+fr, nano+legal"),
        std::string::npos)
        << error;
  }
  const auto refused =
      server_.post("/completion", {{"prompt", "Hi"}, {"lora", {{{"id", 0}, {"scale", 1.0}}}}});
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("nano+ADAPTER"), std::string::npos);
}

TEST(AdapterCache, IsSeparateByAdapter) {
  CacheServer server;
  const auto with = [](const std::string& adapter) {
    return [adapter](Job& job) { job.adapter = adapter; };
  };
  const auto prompt = text_of(600, 1);
  EXPECT_EQ(server.answer(prompt).cache.reused, 0);
  const JobReport other = server.answer(prompt, "", with("fr"));
  EXPECT_EQ(other.cache.reused, 0);
  EXPECT_EQ(other.cache.reusable, 600);
  EXPECT_EQ(other.cache.reason, MissReason::kSettings);
  EXPECT_EQ(server.answer(prompt, "", with("fr")).cache.reused, 600);
  EXPECT_EQ(server.answer(prompt).cache.reused, 600);
  EXPECT_EQ(server.answer(prompt, "", with("legal")).cache.reused, 0);
}

/// A file of an adapter that is no longer offered, or has other contents, stays and is not used.
TEST(AdapterCache, OnDiskBelongsToTheAdapter) {
  const TempFolder folder;
  const auto prompt = text_of(600, 2);
  const auto reused = [&](const std::map<std::string, uint64_t>& offered) {
    CacheServer server({}, {.sleep_after = 0.1});
    server.scheduler.open_disk(
        {.folder = folder.path(), .fingerprint = 7, .adapters = offered, .load_speed = 1e9});
    const auto job = [](Job& one) { one.adapter = "fr"; };
    const int64_t found = server.answer(prompt, "", job).cache.reused;
    std::string problem = "not called";
    bool done = false;
    server.scheduler.save_session("", "", "s", [&](const SessionAnswer& answer) {
      problem = answer.error;
      done = true;
    });
    while (!done) server.scheduler.turn();
    EXPECT_EQ(problem, "");
    return found;
  };
  EXPECT_EQ(reused({{"fr", 1}}), 0);
  EXPECT_EQ(reused({{"fr", 1}}), 600 - 16);
  EXPECT_EQ(reused({{"fr", 2}}), 0);
  EXPECT_EQ(reused({{"fr", 1}}), 600 - 16);
}

namespace fs = std::filesystem;

/// Remembers the tokens of a reply with the chances of all others.
struct WholeReply : LastReport {
  void piece(int, const ReplyPiece& piece, const JobReport&) override {
    for (const TokenReport& token : piece.tokens) {
      ids.push_back(token.id);
      auto& row = chances.emplace_back();
      for (const TokenChance& chance : token.best) row.push_back(chance.logprob);
    }
  }
  std::vector<int32_t> ids;
  std::vector<std::vector<float>> chances;
};

class AdapterReplies : public ::testing::Test {
 protected:
  static constexpr int kTokens = 8;

  AdapterReplies() {
    const fs::path data = LONGHAUL_TEST_DATA;
    base_ = Engine::open(data / "tiny_models/llama_linear");
    adapters_ = {{"a", Engine::with_adapters(base_, {{data / "adapters/llama_linear", 1}})},
                 {"b", Engine::with_adapters(base_, {{data / "adapters/llama_wide", 1}})}};
    options_.chunk = 64;
  }

  std::shared_ptr<Job> job_of(const std::string& adapter, unsigned seed) {
    const auto job = std::make_shared<Job>();
    job->adapter = adapter;
    for (const int32_t token : text_of(150, seed)) {
      job->prompt.push_back(token % base_->model().config.vocab);
    }
    job->reply.max_tokens = kTokens;
    job->reply.ignore_eos = true;
    job->reply.logprobs = base_->model().config.vocab;
    job->sink = std::make_shared<WholeReply>();
    return job;
  }

  /// The reply of an engine that was opened with the adapter alone.
  WholeReply alone(const Job& job, const std::vector<AdapterSource>& files) {
    const fs::path model = fs::path(LONGHAUL_TEST_DATA) / "tiny_models/llama_linear";
    const auto engine = Engine::open({model, files, {}, {}});
    ModelRunner runner(engine, {}, Compute::kBest);
    Sequence sequence(engine, options_);
    prefill(sequence, runner, job.prompt, {});
    ReplyMaker maker(engine->tokenizer(), job.reply);
    WholeReply reply;
    for (int i = 0; i < kTokens; ++i) {
      if (i > 0) runner.decode(sequence, maker.last_token());
      reply.piece(0, maker.take(sequence.logits(), sequence.tokens()), {});
    }
    return reply;
  }

  std::shared_ptr<const Engine> base_;
  AdapterEngines adapters_;
  SessionOptions options_;
};

/// More requests than run at a time, of three sets in turns.
TEST_F(AdapterReplies, HaveTheBitsOfAnEngineOfTheirOwn) {
  SequenceEngine port(base_, options_, adapters_);
  Metrics metrics;
  Scheduler scheduler(port, base_->tokenizer(), {.memory_limit = size_t{1} << 33, .running = 5},
                      metrics);
  const fs::path data = fs::path(LONGHAUL_TEST_DATA) / "adapters";
  const std::map<std::string, std::vector<AdapterSource>> files = {
      {"", {}}, {"a", {{data / "llama_linear", 1}}}, {"b", {{data / "llama_wide", 1}}}};
  std::vector<std::shared_ptr<Job>> jobs;
  constexpr const char* kNames[] = {"", "a", "b"};
  for (unsigned i = 0; i < 9; ++i) {
    jobs.push_back(job_of(kNames[i % 3], i));
    ASSERT_FALSE(scheduler.submit(jobs.back()));
  }
  while (!scheduler.idle()) scheduler.turn();
  for (const auto& job : jobs) {
    const auto& got = static_cast<const WholeReply&>(*job->sink);
    const WholeReply want = alone(*job, files.at(job->adapter));
    EXPECT_EQ(got.error.status, 0) << got.error.message;
    EXPECT_EQ(got.ids, want.ids) << "adapter '" << job->adapter << "'";
    EXPECT_EQ(got.chances, want.chances) << "adapter '" << job->adapter << "'";
  }
}

TEST_F(AdapterReplies, CountInTheMemoryOfTheServer) {
  const SequenceEngine without(base_, options_), with(base_, options_, adapters_);
  const size_t own = adapters_["a"]->bytes_beside_base({}) + adapters_["b"]->bytes_beside_base({});
  EXPECT_GT(own, 0u);
  EXPECT_GE(with.fixed_bytes(), without.fixed_bytes() + own);
  EXPECT_LT(with.fixed_bytes(), without.fixed_bytes() + own + (size_t{1} << 20));
}

}  // namespace
}  // namespace longhaul::serve
