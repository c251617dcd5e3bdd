// Methods against short transcripts in torch that were written from the papers' formulas
// (tools/parity/transcripts.py): what each layer keeps or selects of 700 tokens on nano, and the
// logits that follow. Both in f32.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/session.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using Tokens = std::vector<int64_t>;

/// An attention method that notes which stored rows every layer of a pass looked at by index.
class Observed final : public AttentionMethod {
 public:
  explicit Observed(std::unique_ptr<AttentionMethod> method) : method_(std::move(method)) {}

  KvLayout layout(const ModelShape& shape, DType type) const override {
    return method_->layout(shape, type);
  }
  std::vector<Pass> prepare(const PromptFacts& prompt) override { return method_->prepare(prompt); }
  void attend(LayerStep& step) override {
    step.workspace->observer = [this](const LayerStep& seen, std::span<const AttendTask> tasks) {
      Tokens& list = selected[static_cast<size_t>(seen.layer)];
      list.clear();
      for (const KeySegment& segment : tasks.front().segments) {
        if (segment.index != nullptr) list.assign(segment.index, segment.index + segment.count);
      }
    };
    method_->attend(step);
  }

  std::vector<Tokens> selected = std::vector<Tokens>(12);

 private:
  std::unique_ptr<AttentionMethod> method_;
};

class TranscriptTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { nano_ = Engine::open(fs::path(LONGHAUL_MODELS) / "nano"); }

  void read(const std::string& name) {
    std::ifstream in(fs::path(LONGHAUL_TEST_DATA) / "goldens/transcripts" / (name + ".json"));
    golden_ = nlohmann::json::parse(in);
    tokens_ = golden_.at("tokens").get<std::vector<int32_t>>();
    method_ = golden_.at("method").get<std::string>();
  }

  Session after_prompt() const {
    SessionOptions options;
    options.attention = MethodSpec::parse(method_);
    options.kv_type = DType::F32;
    options.compute = Compute::kF32;
    options.chunk = golden_.value("chunk", 1024);
    Session session(nano_, options);
    PrefillHooks hooks;
    hooks.instruction = golden_.value("instruction", 0);
    session.prefill(tokens_, hooks);
    return session;
  }

  static Tokens kept(const Session& session, int layer, int head) {
    Tokens tokens;
    for (int64_t row = 0; row < session.store().length(layer, head); ++row) {
      tokens.push_back(session.store().token_of(layer, head, row));
    }
    return tokens;
  }

  void expect_logits(std::span<const float> mine) const { expect_logits(mine, golden_); }
  static void expect_logits(std::span<const float> mine, const nlohmann::json& golden) {
    const auto theirs = golden.at("logits").get<std::vector<float>>();
    ASSERT_EQ(mine.size(), theirs.size());
    float largest = 0, error = 0;
    for (size_t i = 0; i < theirs.size(); ++i) {
      largest = std::max(largest, std::fabs(theirs[i]));
      error = std::max(error, std::fabs(theirs[i] - mine[i]));
    }
    EXPECT_LT(error, 1e-3f * largest);
  }

  static inline std::shared_ptr<const Engine> nano_;
  nlohmann::json golden_;
  std::vector<int32_t> tokens_;
  std::string method_;
};

TEST_F(TranscriptTest, TriangleMix) {
  read("trianglemix");
  expect_logits(after_prompt().logits());
}

TEST_F(TranscriptTest, DuoAttention) {
  read("duo");
  const fs::path gates = fs::path(testing::TempDir()) / "transcript_gates.tsv";
  std::ofstream out(gates);
  for (const auto& layer : golden_.at("gates")) {
    for (size_t head = 0; head < layer.size(); ++head) out << (head ? "\t" : "") << layer[head];
    out << '\n';
  }
  out.close();
  method_.replace(method_.find("{gates}"), 7, gates.string());
  const Session session = after_prompt();
  expect_logits(session.logits());
  const auto theirs = golden_.at("kept").get<std::vector<std::vector<Tokens>>>();
  for (int layer = 0; layer < 12; ++layer) {
    for (int head = 0; head < 3; ++head) {
      const Tokens mine = kept(session, layer, head);
      const Tokens& expected = theirs[static_cast<size_t>(layer)][static_cast<size_t>(head)];
      EXPECT_TRUE(std::ranges::includes(mine, expected));
      EXPECT_LT(mine.size(), expected.size() + 64);  // whole pages leave at once
    }
  }
}

TEST_F(TranscriptTest, ReAttention) {
  read("reattention");
  expect_logits(after_prompt().logits());

  Decoder decoder(nano_->model(), Compute::kF32);
  Observed method(MethodSpec::parse(method_).make(decoder.shape()));
  std::vector<KvStore> streams;
  streams.emplace_back(method.layout(decoder.shape(), DType::F32));
  const auto count = static_cast<int64_t>(tokens_.size());
  decoder.set_context_length(count);
  for (const Pass& pass : method.prepare({0, count, 0, 1024})) {
    ForwardPass forward;
    forward.tokens = std::span(tokens_).subspan(static_cast<size_t>(pass.begin),
                                                static_cast<size_t>(pass.count));
    forward.position = pass.begin;
    forward.pass = pass;
    forward.store = streams.data();
    forward.streams = streams;
    decoder.forward(forward, method);
  }
  EXPECT_EQ(method.selected, golden_.at("selected").get<std::vector<Tokens>>());
}

class CitrusTranscriptTest : public TranscriptTest,
                             public testing::WithParamInterface<const char*> {};

TEST_P(CitrusTranscriptTest, KeepsTheSameTokens) {
  read(std::string("citrus_") + GetParam());
  const Session session = after_prompt();
  expect_logits(session.logits());
  const auto theirs = golden_.at("kept_of_document").get<std::vector<Tokens>>();
  const int64_t document = static_cast<int64_t>(tokens_.size()) - golden_.value("instruction", 0);
  for (int layer = 0; layer < 12; ++layer) {
    for (int head = 0; head < 3; ++head) {
      Tokens mine = kept(session, layer, head);
      std::erase_if(mine, [&](int64_t token) { return token >= document; });
      EXPECT_EQ(mine, theirs[static_cast<size_t>(layer)]) << "layer " << layer;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Caches, CitrusTranscriptTest,
                         testing::Values("standard", "shared", "individual"));

class LtriTranscriptTest : public TranscriptTest, public testing::WithParamInterface<const char*> {
 protected:
  /// The blocks among the rows that a layer looked at by index: first tokens, then whole blocks.
  Tokens blocks(const Tokens& rows) const {
    const int64_t init = golden_.at("n_init"), size = golden_.at("block");
    Tokens numbers;
    for (const int64_t row : rows) {
      if (row >= init && (row - init) % size == 0) numbers.push_back((row - init) / size);
    }
    return numbers;
  }
  std::vector<Tokens> blocks(const Observed& method) const {
    std::vector<Tokens> layers;
    for (const Tokens& rows : method.selected) layers.push_back(blocks(rows));
    return layers;
  }
};

TEST_P(LtriTranscriptTest, LooksUpTheSameBlocks) {
  read(std::string("ltri_") + GetParam());
  Decoder decoder(nano_->model(), Compute::kF32);
  Observed method(MethodSpec::parse(method_).make(decoder.shape()));
  std::vector<KvStore> streams;
  streams.emplace_back(method.layout(decoder.shape(), DType::F32));
  std::vector<float> logits(4096);
  const auto forward = [&](std::span<const int32_t> tokens, const Pass& pass, bool decoding) {
    const float* hidden = decoder.forward({.tokens = tokens,
                                           .position = pass.begin,
                                           .decoding = decoding,
                                           .pass = pass,
                                           .store = streams.data(),
                                           .streams = streams},
                                          method);
    decoder.logits(hidden + (pass.count - 1) * 384, 1, logits.data());
  };

  const auto count = static_cast<int64_t>(tokens_.size());
  decoder.set_context_length(count);
  const auto theirs = golden_.at("selected").get<std::vector<std::vector<Tokens>>>();
  size_t step = 0;
  for (const Pass& pass : method.prepare({0, count, 0, 1024})) {
    forward(std::span(tokens_).subspan(static_cast<size_t>(pass.begin),
                                       static_cast<size_t>(pass.count)),
            pass, false);
    ASSERT_LT(step, theirs.size());
    ASSERT_EQ(blocks(method), theirs[step]) << "step " << step << ", tokens from " << pass.begin;
    ++step;
  }
  EXPECT_EQ(step, theirs.size());
  expect_logits(logits);

  const nlohmann::json& decoded = golden_.at("decoded");
  const int32_t token = decoded.at("token");
  forward({&token, 1}, {count, 1}, true);
  EXPECT_EQ(blocks(method), decoded.at("selected").get<std::vector<Tokens>>());
  expect_logits(logits, decoded);
}

INSTANTIATE_TEST_SUITE_P(Settings, LtriTranscriptTest, testing::Values("published", "profile"));

}  // namespace
}  // namespace longhaul
