// Methods on nano compared with short transcripts in torch, which were written from the papers'
// formulas (tools/parity/transcripts.py). Compared are the rows that each layer keeps or selects,
// the attention output of some rows, and the resulting logits. Both use f32; the outputs are stored
// in f16.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/float_types.h"
#include "engine/observed_reading.h"
#include "engine/session.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using testing_support::Reading;
using testing_support::Tokens;

// Relative to the largest value of a row. Rounding to f16 (logits: to four digits) alone takes half
// of it.
constexpr float kTolerance = 1e-3f;

class TranscriptTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { nano_ = Engine::open(fs::path(LONGHAUL_MODELS) / "nano"); }

  void read(const std::string& name) {
    path_ = fs::path(LONGHAUL_TEST_DATA) / "goldens/transcripts" / name;
    std::ifstream in(path_.string() + ".json");
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

  /// A reading that observes the golden's rows.
  Reading reading() const {
    return {nano_->model(), MethodSpec::parse(method_), golden_.value("rows", Tokens{})};
  }
  void read_prompt(Reading& reading) const {
    read_prompt(reading, [](const Pass&) {});
  }
  template <class After>
  void read_prompt(Reading& reading, After&& after) const {
    reading.prompt(tokens_, golden_.value("instruction", 0), golden_.value("chunk", 1024), after);
    expect_close(reading.logits, golden_.at("logits").get<std::vector<float>>(), "logits");
  }

  static Tokens kept(const Session& session, int layer, int head) {
    Tokens tokens;
    for (int64_t row = 0; row < session.store().length(layer, head); ++row) {
      tokens.push_back(session.store().token_of(layer, head, row));
    }
    return tokens;
  }

  void expect_logits(std::span<const float> mine) const {
    expect_close(mine, golden_.at("logits").get<std::vector<float>>(), "logits");
  }

  /// Compares every layer's attention output in the golden's rows, for all heads.
  void expect_outputs(const Reading& reading) const {
    std::ifstream in(path_.string() + ".f16", std::ios::binary);
    for (const int64_t position : golden_.at("rows").get<Tokens>()) {
      const auto& layers = reading.method.rows.at(position).output;
      ASSERT_EQ(layers.size(), 12u);
      for (size_t layer = 0; layer < layers.size(); ++layer) {
        std::vector<f16_t> halves(384);
        in.read(reinterpret_cast<char*>(halves.data()), 2 * 384);
        ASSERT_TRUE(in.good());
        std::vector<float> theirs;
        for (const f16_t half : halves) theirs.push_back(f16_to_f32(half));
        expect_close(layers[layer], theirs, fmt::format("row {}, layer {}", position, layer));
      }
    }
    EXPECT_EQ(in.peek(), std::ifstream::traits_type::eof());
  }

  /// Compares the keys that every head of every layer sees in these rows.
  void expect_seen(const Reading& reading) const {
    const nlohmann::json& rows = golden_.at("seen");
    ASSERT_EQ(rows.size(), golden_.at("rows").size());
    for (const auto& [position, theirs] : rows.items()) {
      const auto& layers = reading.method.rows.at(std::stoll(position)).seen;
      for (size_t layer = 0; layer < 12; ++layer) {
        for (size_t head = 0; head < 6; ++head) {
          EXPECT_EQ(layers[layer][head], numbers(theirs.at(layer).at(head / 2)))
              << "row " << position << ", layer " << layer << ", head " << head;
        }
      }
    }
  }

  /// The numbers in stretches [begin, end).
  static Tokens numbers(const nlohmann::json& stretches) {
    Tokens all;
    for (const auto& stretch : stretches) {
      for (int64_t i = stretch.at(0); i < stretch.at(1); ++i) all.push_back(i);
    }
    return all;
  }

  static void expect_close(std::span<const float> mine, std::span<const float> theirs,
                           const std::string& what) {
    ASSERT_EQ(mine.size(), theirs.size()) << what;
    float largest = 0;
    for (const float x : theirs) largest = std::max(largest, std::fabs(x));
    ASSERT_GT(largest, 0);
    for (size_t i = 0; i < theirs.size(); ++i) {
      ASSERT_LT(std::fabs(theirs[i] - mine[i]), kTolerance * largest) << what << ", number " << i;
    }
  }

  static inline std::shared_ptr<const Engine> nano_;
  fs::path path_;  // path of the golden without extension
  nlohmann::json golden_;
  std::vector<int32_t> tokens_;
  std::string method_;
};

TEST_F(TranscriptTest, TriangleMix) {
  read("trianglemix");
  expect_logits(after_prompt().logits());
  Reading layers = reading();
  read_prompt(layers);
  expect_seen(layers);
  expect_outputs(layers);
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
  Reading layers = reading();
  read_prompt(layers);
  expect_seen(layers);
  expect_outputs(layers);
  const Session session = after_prompt();
  expect_logits(session.logits());
  const auto theirs = golden_.at("kept").get<std::vector<std::vector<Tokens>>>();
  for (int layer = 0; layer < 12; ++layer) {
    for (int head = 0; head < 3; ++head) {
      const Tokens mine = kept(session, layer, head);
      const Tokens& expected = theirs[static_cast<size_t>(layer)][static_cast<size_t>(head)];
      EXPECT_TRUE(std::ranges::includes(mine, expected));
      EXPECT_LT(mine.size(), expected.size() + 64);  // whole pages are dropped at once
    }
  }
}

class ReattentionTranscriptTest : public TranscriptTest,
                                  public testing::WithParamInterface<const char*> {};

TEST_P(ReattentionTranscriptTest, SelectsTheSameTokensInEveryStep) {
  read(GetParam());
  expect_logits(after_prompt().logits());
  Reading layers = reading();
  const nlohmann::json& steps = golden_.at("steps");
  size_t step = 0;
  // Passes of one chunk have visible choices. Passes of sixteen gave the logits above.
  layers.prompt(tokens_, 0, 64, [&](const Pass& pass) {
    const int64_t end = pass.begin + pass.count;
    const std::vector<Tokens>& mine = layers.method.selected;
    if (end < steps.at(0).at("end")) {  // everything is visible
      EXPECT_EQ(mine, std::vector<Tokens>(12));
      return;
    }
    ASSERT_LT(step, steps.size());
    EXPECT_EQ(end, steps[step].at("end").get<int64_t>());
    for (size_t layer = 0; layer < 12; ++layer) {
      EXPECT_EQ(mine[layer], numbers(steps[step].at("selected").at(layer)))
          << "tokens to " << end << ", layer " << layer;
    }
    ++step;
  });
  EXPECT_EQ(step, steps.size());
  expect_outputs(layers);
}

INSTANTIATE_TEST_SUITE_P(Votes, ReattentionTranscriptTest,
                         testing::Values("reattention", "reattention_tile"));

class CitrusTranscriptTest : public TranscriptTest,
                             public testing::WithParamInterface<const char*> {};

TEST_P(CitrusTranscriptTest, KeepsTheSameTokens) {
  read(std::string("citrus_") + GetParam());
  Reading layers = reading();
  read_prompt(layers);
  expect_outputs(layers);
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
  /// The blocks among the rows that a layer saw by index: first tokens, then whole blocks.
  Tokens blocks(const Tokens& rows) const {
    const int64_t init = golden_.at("n_init"), size = golden_.at("block");
    Tokens numbers;
    for (const int64_t row : rows) {
      if (row >= init && (row - init) % size == 0) numbers.push_back((row - init) / size);
    }
    return numbers;
  }
  std::vector<Tokens> blocks(const Reading& reading) const {
    std::vector<Tokens> layers;
    for (const Tokens& rows : reading.method.selected) layers.push_back(blocks(rows));
    return layers;
  }
};

TEST_P(LtriTranscriptTest, LooksUpTheSameBlocks) {
  read(std::string("ltri_") + GetParam());
  Reading layers = reading();
  const auto theirs = golden_.at("selected").get<std::vector<std::vector<Tokens>>>();
  size_t step = 0;
  read_prompt(layers, [&](const Pass& pass) {
    ASSERT_LT(step, theirs.size());
    EXPECT_EQ(blocks(layers), theirs[step]) << "step " << step << ", tokens from " << pass.begin;
    ++step;
  });
  EXPECT_EQ(step, theirs.size());

  const nlohmann::json& decoded = golden_.at("decoded");
  layers.decode(decoded.at("token"), static_cast<int64_t>(tokens_.size()));
  EXPECT_EQ(blocks(layers), decoded.at("selected").get<std::vector<Tokens>>());
  expect_close(layers.logits, decoded.at("logits").get<std::vector<float>>(), "logits");
  if (golden_.contains("rows")) expect_outputs(layers);
}

INSTANTIATE_TEST_SUITE_P(Settings, LtriTranscriptTest,
                         testing::Values("published", "profile", "outputs"));

}  // namespace
}  // namespace longhaul
