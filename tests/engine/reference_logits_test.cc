// Logits of whole models compared with Hugging Face transformers: tiny models of every family and
// scaling, and nano. Goldens: tests/data (README there), made by tools/make_goldens.py.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/parallel.h"
#include "engine/tiny_models.h"
#include "ops/core/isa/isa.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using testing_support::all_logits;
using testing_support::exact_options;
using testing_support::read_json;
using testing_support::TinyModel;

class TinyModelTest : public testing::TestWithParam<TinyModel> {
 protected:
  void SetUp() override {
    golden_ = read_json(GetParam().golden);
    engine_ = Engine::open(GetParam().model);
    ids_ = golden_["ids"].get<std::vector<int32_t>>();
  }

  /// Compares logits with the golden of position number `p`, relative to its largest logit.
  void expect_golden(const float* got, size_t p, const std::string& how) {
    const auto want = golden_["logits"][p].get<std::vector<float>>();
    ASSERT_EQ(want.size(), static_cast<size_t>(engine_->model().config.vocab));
    double most = 0, scale = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      most = std::max(most, std::abs(double{got[i]} - want[i]));
      scale = std::max(scale, std::abs(double{want[i]}));
    }
    // GGUF files with latent attention differ by up to 1.7e-5, all other models by up to 3e-6.
    const bool split_latent = engine_->model().config.latent.used() && is_gguf();
    const double allowed = split_latent ? 2e-5 : 5e-6;
    EXPECT_LT(most / scale, allowed) << "position " << golden_["positions"][p] << ", " << how;
  }

  bool is_gguf() const { return GetParam().model.extension() == ".gguf"; }

  json golden_;
  std::shared_ptr<const Engine> engine_;
  std::vector<int32_t> ids_;
};

TEST_P(TinyModelTest, LogitsEqualTransformers) {
  for (const int chunk : {1024, 7}) {
    const std::vector<float> logits = all_logits(engine_, exact_options(chunk), ids_);
    const size_t vocab = static_cast<size_t>(engine_->model().config.vocab);
    for (size_t p = 0; p < golden_["positions"].size(); ++p) {
      const float* got = logits.data() + golden_["positions"][p].get<size_t>() * vocab;
      expect_golden(got, p, "chunk " + std::to_string(chunk));
    }
  }
}

/// The first tokens are a prompt, the others are decoded one by one.
TEST_P(TinyModelTest, DecodedLogitsEqualTransformers) {
  if (engine_->model().config.rope.depends_on_length()) return;  // the golden is of one length
  const auto positions = golden_["positions"].get<std::vector<size_t>>();
  Session session(engine_, exact_options());
  session.prefill(std::span(ids_).first(positions[0] + 1));
  expect_golden(session.logits().data(), 0, "prompt");
  for (size_t i = positions[0] + 1; i <= positions[1]; ++i) session.decode(ids_[i]);
  expect_golden(session.logits().data(), 1, "decode");
}

INSTANTIATE_TEST_SUITE_P(All, TinyModelTest,
                         testing::ValuesIn(testing_support::tiny_models(LONGHAUL_TEST_DATA)),
                         [](const auto& test) { return test.param.name; });

class NanoTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    engine_ = Engine::open(fs::path(LONGHAUL_MODELS) / "nano");
    goldens_ = read_json(fs::path(LONGHAUL_TEST_DATA) / "goldens/nano/prompts.json")["prompts"];
    std::ifstream in(fs::path(LONGHAUL_TEST_DATA) / "goldens/nano/logits.bin", std::ios::binary);
    in.seekg(0, std::ios::end);
    logits_.resize(static_cast<size_t>(in.tellg()) / sizeof(float));
    in.seekg(0);
    in.read(reinterpret_cast<char*>(logits_.data()),
            static_cast<std::streamsize>(logits_.size() * sizeof(float)));
  }
  void TearDown() override {
    set_isa(best_isa());
    set_thread_count(2);
  }

  static std::vector<int32_t> greedy(Session& session, size_t count) {
    std::vector<int32_t> reply;
    while (reply.size() < count) {
      const auto logits = session.logits();
      const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
      reply.push_back(static_cast<int32_t>(best));
      session.decode(reply.back());
    }
    return reply;
  }

  /// Largest difference from the golden row, relative to the golden's largest logit.
  static double difference(const float* got, size_t offset) {
    const float* want = logits_.data() + offset;
    double most = 0, scale = 0;
    for (size_t i = 0; i < 4096; ++i) {
      most = std::max(most, std::abs(double{got[i]} - want[i]));
      scale = std::max(scale, std::abs(double{want[i]}));
    }
    return most / scale;
  }

  /// Checks every golden position of every prompt.
  static void expect_logits(const SessionOptions& options, double most_difference) {
    for (const json& prompt : goldens_) {
      const auto ids = prompt["ids"].get<std::vector<int32_t>>();
      const std::vector<float> logits = all_logits(engine_, options, ids);
      const size_t offset = prompt["float32"]["logits_offset"].get<size_t>();
      for (size_t p = 0; p < prompt["positions"].size(); ++p) {
        const float* got = logits.data() + prompt["positions"][p].get<size_t>() * 4096;
        EXPECT_LT(difference(got, offset + p * 4096), most_difference)
            << prompt["name"] << " position " << prompt["positions"][p];
      }
    }
  }

  static bool is_long(const json& prompt) { return prompt["ids"].size() >= 400; }

  static void expect_reply(const json& prompt, Isa isa, int threads, int chunk) {
    ASSERT_TRUE(prompt["steady"].get<bool>());
    auto want = prompt["float32"]["continuation"].get<std::vector<int32_t>>();
    want.resize(prompt["float32"]["reply_length"].get<size_t>());
    set_isa(isa);
    set_thread_count(threads);
    SessionOptions options;
    options.chunk = chunk;
    Session session(engine_, options);
    session.prefill(prompt["ids"].get<std::vector<int32_t>>());
    EXPECT_EQ(greedy(session, want.size()), want) << prompt["name"] << " isa " << name_of(isa)
                                                  << " threads " << threads << " chunk " << chunk;
  }

  inline static std::shared_ptr<const Engine> engine_;
  inline static json goldens_;
  inline static std::vector<float> logits_;
};

TEST_F(NanoTest, F32LogitsEqualTransformers) { expect_logits(exact_options(512), 1e-3); }

TEST_F(NanoTest, Bf16LogitsAreWithinThreePercent) { expect_logits({}, 3e-2); }

TEST_F(NanoTest, Bf16LogitsToSampleFromAreWithinThreePercent) {
  for (const json& prompt : goldens_) {
    Session session(engine_, {});
    session.prefill(prompt["ids"].get<std::vector<int32_t>>());
    const size_t last =
        prompt["float32"]["logits_offset"].get<size_t>() + (prompt["positions"].size() - 1) * 4096;
    EXPECT_LT(difference(session.logits().data(), last), 3e-2) << prompt["name"];
  }
}

TEST_F(NanoTest, GreedyRepliesDoNotDependOnChunkThreadsOrIsa) {
  for (const json& prompt : goldens_) {
    if (is_long(prompt)) continue;
    for (int isa = 0; isa <= static_cast<int>(best_isa()); ++isa) {
      for (const auto& [threads, chunk] : {std::pair{1, 1024}, {2, 37}}) {
        expect_reply(prompt, static_cast<Isa>(isa), threads, chunk);
      }
    }
  }
}

/// Prompts of two passes and many tiles. To save time, code without vector instructions runs only
/// on short prompts. Chunks of 37 and one thread run only at the best level.
TEST_F(NanoTest, GreedyRepliesToLongPromptsDoNotDependOnChunkThreadsOrIsa) {
  int prompts = 0;
  for (const json& prompt : goldens_) {
    if (!is_long(prompt)) continue;
    ++prompts;
    expect_reply(prompt, best_isa(), 2, 37);
    expect_reply(prompt, best_isa(), 1, 1024);
    const int plainest = std::min(static_cast<int>(Isa::kAvx2), static_cast<int>(best_isa()));
    for (int isa = plainest; isa <= static_cast<int>(best_isa()); ++isa) {
      expect_reply(prompt, static_cast<Isa>(isa), 2, 1024);
    }
  }
  EXPECT_EQ(prompts, 2);
}

TEST_F(NanoTest, EveryKvTypeFindsTheAnswer) {
  for (const DType type : {DType::F32, DType::F16, DType::BF16, DType::Q8_0}) {
    for (const json& prompt : goldens_) {
      auto want = prompt["float32"]["continuation"].get<std::vector<int32_t>>();
      want.resize(prompt["float32"]["reply_length"].get<size_t>());
      SessionOptions options;
      options.kv_type = type;
      Session session(engine_, options);
      session.prefill(prompt["ids"].get<std::vector<int32_t>>());
      EXPECT_EQ(greedy(session, want.size()), want) << prompt["name"] << " " << name_of(type);
    }
  }
}

}  // namespace
}  // namespace longhaul
