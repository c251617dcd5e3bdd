#include "engine/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error_of.h"
#include "base/file_size_limit.h"
#include "base/parallel.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using testing_support::error_of;

class SessionTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { nano_ = Engine::open(fs::path(LONGHAUL_MODELS) / "nano"); }

  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("session_test_" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::vector<int32_t> prompt(int n, uint32_t seed = 1) {
    std::vector<int32_t> ids;
    for (int i = 0; i < n; ++i) {
      seed = seed * 1664525u + 1013904223u;
      ids.push_back(static_cast<int32_t>(3 + (seed >> 8) % 4000));
    }
    return ids;
  }

  static std::vector<float> logits(const Session& s) {
    return {s.logits().begin(), s.logits().end()};
  }

  inline static std::shared_ptr<const Engine> nano_;
  fs::path folder_;
};

TEST_F(SessionTest, OneChunkEqualsChunksOf37) {
  SessionOptions options;
  options.compute = Compute::kF32;
  options.kv_type = DType::F32;
  std::vector<std::vector<float>> results;
  for (const int chunk : {512, 37, 1}) {
    options.chunk = chunk;
    Session s(nano_, options);
    ASSERT_TRUE(s.prefill(prompt(130)));
    results.push_back(logits(s));
  }
  for (size_t i = 0; i < results[0].size(); ++i) {
    ASSERT_NEAR(results[0][i], results[1][i], 2e-3);
    ASSERT_NEAR(results[0][i], results[2][i], 2e-3);
  }
}

TEST_F(SessionTest, DecodingATokenEqualsReadingIt) {
  SessionOptions options;
  options.compute = Compute::kF32;
  options.kv_type = DType::F32;
  auto ids = prompt(90);
  Session whole(nano_, options);
  whole.prefill(ids);
  Session stepped(nano_, options);
  stepped.prefill(std::span(ids).first(80));
  for (size_t i = 80; i < ids.size(); ++i) stepped.decode(ids[i]);
  for (size_t i = 0; i < 4096; ++i) ASSERT_NEAR(whole.logits()[i], stepped.logits()[i], 2e-3);
  EXPECT_TRUE(std::equal(ids.begin(), ids.end(), stepped.tokens().begin()));
}

TEST_F(SessionTest, ASavedSessionGoesOnAsIfNothingHappened) {
  const auto ids = prompt(200);
  for (const KvType& type : {KvType(DType::BF16), KvType(DType::F16), KvType(DType::F32),
                             KvType(DType::Q8_0), KvType(DType::Q4_0, DType::F16)}) {
    SessionOptions options;
    options.kv_type = type;
    Session a(nano_, options);
    a.prefill(ids);
    a.save(folder_ / "s");
    Session b(nano_, options);
    b.load(folder_ / "s");
    EXPECT_EQ(logits(a), logits(b));
    a.decode(17);
    b.decode(17);
    EXPECT_EQ(logits(a), logits(b));
    EXPECT_EQ(b.tokens().size(), 201u);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "no part is left";
  }
}

TEST_F(SessionTest, AFileThatDoesNotFitIsRefusedAndNothingChanges) {
  const auto ids = prompt(64);
  Session a(nano_, {});
  a.prefill(ids);
  const fs::path file = folder_ / "s";
  a.save(file);
  SessionOptions f16;
  f16.kv_type = DType::F16;
  Session other(nano_, f16);
  other.prefill(prompt(10, 9));
  const auto before = logits(other);
  EXPECT_NE(error_of([&] { other.load(file); }).find("--kv-type BF16"), std::string::npos);
  EXPECT_EQ(logits(other), before);
  EXPECT_EQ(other.tokens().size(), 10u);

  const auto tiny = Engine::open(fs::path(LONGHAUL_TEST_DATA) / "tiny_models/qwen2");
  Session wrong_model(tiny, {});
  EXPECT_NE(error_of([&] { wrong_model.load(file); }).find("another model"), std::string::npos);

  std::fstream damage(file, std::ios::in | std::ios::out | std::ios::binary);
  damage.seekp(5000);
  damage.put('x');
  damage.close();
  EXPECT_NE(error_of([&] { Session(nano_, {}).load(file); }).find("checksum"), std::string::npos);
  std::ofstream(folder_ / "text") << "not a session, but long enough to look at";
  EXPECT_NE(error_of([&] { Session(nano_, {}).load(folder_ / "text"); }), "");
}

TEST_F(SessionTest, AFileOfAnotherMethodIsRefusedAndNothingChanges) {
  const auto with = [](const char* method) {
    SessionOptions options;
    options.attention = MethodSpec::parse(method);
    return options;
  };
  Session saved(nano_, with("streamingllm:sink=2,recent=32"));
  saved.prefill(prompt(64));
  saved.save(folder_ / "s");
  for (const char* method : {"dense", "h2o", "streamingllm:sink=2,recent=16"}) {
    Session other(nano_, with(method));
    other.prefill(prompt(10, 9));
    const auto before = logits(other);
    const std::string error = error_of([&] { other.load(folder_ / "s"); });
    EXPECT_NE(error.find("s: was saved with --attention " + saved.options().attention.text() +
                         ", this session uses " + other.options().attention.text()),
              std::string::npos)
        << method << ": " << error;
    EXPECT_EQ(logits(other), before);
    EXPECT_EQ(other.tokens().size(), 10u);
  }
  Session same(nano_, with("streamingllm:recent=32,sink=2"));
  same.load(folder_ / "s");
  EXPECT_EQ(logits(same), logits(saved));
}

/// Equal words may mean something else: a file named by an option, or the model's metadata.
TEST_F(SessionTest, AFileOfTheSameNameWithOtherContentsIsRefused) {
  const fs::path gates = folder_ / "gates.tsv";
  const auto write_gates = [&](const char* row) {
    std::ofstream out(gates);
    for (int layer = 0; layer < 12; ++layer) out << row << "\n";
  };
  SessionOptions options;
  options.attention = MethodSpec::parse("duo:recent=32,gates=" + gates.string());
  write_gates("1\t0\t0");
  Session saved(nano_, options);
  saved.prefill(prompt(100));
  saved.save(folder_ / "s");
  Session same(nano_, options);
  same.load(folder_ / "s");
  EXPECT_EQ(logits(same), logits(saved));
  write_gates("0\t0\t1");
  Session other(nano_, options);
  EXPECT_NE(error_of([&] { other.load(folder_ / "s"); }).find("other settings of duo"),
            std::string::npos);

  const fs::path model = folder_ / "model";
  fs::create_directory(model);
  for (const auto& entry : fs::directory_iterator(fs::path(LONGHAUL_MODELS) / "nano")) {
    if (entry.path().filename() == "config.json") continue;
    fs::create_symlink(entry.path(), model / entry.path().filename());
  }
  const auto with_theta = [&](double theta) {
    std::ifstream in(fs::path(LONGHAUL_MODELS) / "nano" / "config.json");
    auto config = nlohmann::json::parse(in);
    config["rope_theta"] = theta;
    std::ofstream(model / "config.json") << config;
    return Engine::open(model)->fingerprint();
  };
  EXPECT_EQ(with_theta(5e4), with_theta(5e4));
  EXPECT_NE(with_theta(5e4), with_theta(6e4));
}

TEST_F(SessionTest, AFullDiskIsNamedAndLeavesAnOldFileAsItWas) {
  Session a(nano_, {});
  a.prefill(prompt(64));
  const fs::path file = folder_ / "s";
  const auto save = [&] {
    const testing_support::FileSizeLimit full(100'000);
    return error_of([&] { a.save(file); });
  };
  EXPECT_EQ(save(), file.string() + ": cannot write: File too large");
  EXPECT_TRUE(fs::is_empty(folder_));
  a.save(file);
  const auto old = logits(a);
  a.decode(17);
  EXPECT_NE(save(), "");
  Session b(nano_, {});
  b.load(file);
  EXPECT_EQ(logits(b), old);
  EXPECT_EQ(a.tokens().size(), 65u) << "the session itself goes on";
}

TEST_F(SessionTest, ThePrefixIsReused) {
  const auto ids = prompt(150);
  Session s(nano_, {});
  s.prefill(ids);
  auto longer = ids;
  longer.push_back(5);
  EXPECT_EQ(s.reuse_prefix(longer), 150);
  auto other = ids;
  other[100] = other[100] == 9 ? 10 : 9;
  EXPECT_EQ(s.reuse_prefix(other), 100);
  EXPECT_EQ(s.tokens().size(), 100u);
  s.prefill(std::span(other).subspan(100));
  Session fresh(nano_, {});
  fresh.prefill(other);
  for (size_t i = 0; i < 4096; ++i) EXPECT_NEAR(s.logits()[i], fresh.logits()[i], 0.25);
  EXPECT_EQ(s.reuse_prefix(other), 150) << "the logits of its last token are at hand";
  s.decode(7);
  EXPECT_EQ(s.reuse_prefix(other), 149) << "the last token is read again for its logits";
  EXPECT_EQ(s.reuse_prefix(prompt(20, 77)), 0);
  EXPECT_EQ(s.tokens().size(), 0u);
}

TEST_F(SessionTest, MemoryFollowsTheTokensAndIsForecast) {
  set_thread_count(2);
  Session s(nano_, {});
  const MemoryForecast forecast = s.forecast(2049);
  s.prefill(prompt(2049));  // one more than fills its pages
  const SessionReport report = s.report();
  const size_t exact = size_t{2049} * 12 * 2 * 3 * 64 * 2;
  EXPECT_GE(report.kv_bytes, exact);
  EXPECT_LE(report.kv_bytes, exact + exact / 20);
  EXPECT_GE(forecast.kv, report.kv_bytes);
  EXPECT_EQ(report.live_rows, 2049 * 36);
  EXPECT_GT(forecast.working, 0u);
  EXPECT_EQ(forecast.process, nano_->process_bytes());
  EXPECT_EQ(report.forecast.total(), forecast.total());
}

TEST_F(SessionTest, WhatCannotFitIsRefusedBeforeItStarts) {
  SessionOptions options;
  options.memory_limit = 80 << 20;
  Session s(nano_, options);
  const std::string error = error_of([&] { s.prefill(prompt(8000)); });
  EXPECT_NE(error.find("--memory-limit 80.0 MiB"), std::string::npos) << error;
  EXPECT_EQ(s.tokens().size(), 0u);
  EXPECT_EQ(s.report().kv_bytes, 0u);

  options = {};
  options.context = 100;
  Session limited(nano_, options);
  EXPECT_NE(error_of([&] { limited.prefill(prompt(101)); }).find("--ctx 100"), std::string::npos);
  limited.prefill(prompt(100));
  EXPECT_NE(error_of([&] { limited.decode(4); }).find("--ctx 100"), std::string::npos);
  EXPECT_NE(error_of([&] { limited.prefill({}); }).find("empty"), std::string::npos);
}

TEST_F(SessionTest, APassThatFailsLeavesNoContextEvenWhereTheMethodCannotBeMadeAnew) {
  const fs::path gates = folder_ / "gates.tsv", away = folder_ / "away.tsv";
  fs::copy_file(fs::path(LONGHAUL_MODELS) / "nano/duo_gates.tsv", gates);
  SessionOptions options;
  options.attention = MethodSpec::parse("duo:sparsity=0.5,gates=" + gates.string());
  Session s(nano_, options);
  s.prefill(prompt(100));
  s.observe([](const LayerStep& step, std::span<const AttendTask>) {
    if (step.layer == 3) user_error("the disk is full");
  });
  fs::rename(gates, away);
  EXPECT_EQ(error_of([&] { s.decode(7); }), "the disk is full");
  EXPECT_TRUE(s.tokens().empty());
  s.observe(nullptr);
  EXPECT_NE(error_of([&] { s.prefill(prompt(20)); }).find("gates.tsv"), std::string::npos);
  fs::rename(away, gates);
  EXPECT_TRUE(s.prefill(prompt(20)));
  Session fresh(nano_, options);
  fresh.prefill(prompt(20));
  EXPECT_EQ(logits(s), logits(fresh));
}

TEST_F(SessionTest, CancelStopsBetweenPassesAndKeepsWhatWasRead) {
  SessionOptions options;
  options.chunk = 32;
  Session s(nano_, options);
  CancelFlag cancel;
  PrefillHooks hooks;
  hooks.cancel = &cancel;
  std::vector<int64_t> steps;
  hooks.progress = [&](int64_t done, int64_t total) {
    EXPECT_EQ(total, 128);
    steps.push_back(done);
    if (done >= 64) cancel.request();
  };
  EXPECT_FALSE(s.prefill(prompt(128), hooks));
  const size_t layers = 12;
  ASSERT_EQ(steps.size(), 2 * layers) << "every layer of a pass is progress";
  EXPECT_TRUE(std::ranges::is_sorted(steps));
  EXPECT_EQ(steps[layers - 1], 32);
  EXPECT_EQ(steps.back(), 64);
  EXPECT_EQ(s.tokens().size(), 64u);
  EXPECT_EQ(s.store().length(0, 0), 64);
}

/// A cancelled pass leaves the state before it. The prompt can then be resumed with equal results.
TEST_F(SessionTest, CancelTakesBackThePassThatItInterrupts) {
  const std::vector<int32_t> ids = prompt(128);
  for (const char* method : {"dense", "ntk:mode=fixed", "snapkv:window=40,capacity=100",
                             "tova:capacity=200", "reattention", "streamingllm", "infllm"}) {
    SCOPED_TRACE(method);
    SessionOptions options;
    options.attention = MethodSpec::parse(method);
    options.chunk = 32;
    Session s(nano_, options), whole(nano_, options);
    ASSERT_TRUE(whole.prefill(ids));
    for (const int64_t stop : {20, 75}) {  // in the first pass of the rest, and in a later one
      const auto before = static_cast<int64_t>(s.tokens().size());
      CancelFlag cancel;
      PrefillHooks hooks;
      hooks.cancel = &cancel;
      hooks.progress = [&](int64_t done, int64_t) {
        if (before + done >= stop) cancel.request();
      };
      ASSERT_FALSE(s.prefill(std::span(ids).subspan(static_cast<size_t>(before)), hooks));
      const auto read = static_cast<int64_t>(s.tokens().size());
      EXPECT_LE(read, 96);
      for (int layer = 0; layer < 12; ++layer) ASSERT_EQ(s.store().length(layer, 0), read) << layer;
      if (stop == 20) {
        EXPECT_EQ(read, 0) << "nothing had been read before";
      }
    }
    ASSERT_TRUE(s.prefill(std::span(ids).subspan(s.tokens().size())));
    ASSERT_EQ(s.report().live_rows, whole.report().live_rows);
    for (size_t i = 0; i < 4096; ++i) ASSERT_EQ(s.logits()[i], whole.logits()[i]) << i;
  }
}

}  // namespace
}  // namespace longhaul
