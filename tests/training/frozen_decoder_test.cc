// The forward pass before gradients, compared with logits of other engines
// (tests/data/tiny_models).

#include "training/frozen_decoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "format/checkpoint.h"
#include "training/gated_attention.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Returns false for a model that is refused because gradients do not support its operations.
bool expect_logits(const fs::path& path, const fs::path& expected_logits) {
  SCOPED_TRACE(path.string());
  const json golden = json::parse(std::ifstream(expected_logits));
  const Checkpoint checkpoint = open_checkpoint(path);
  const Model model = load_model(checkpoint);
  if (!model.config.beyond_plain().empty()) {
    EXPECT_THROW(FrozenDecoder(model, Compute::kF32), UserError);
    return false;
  }
  const int64_t hidden = model.config.hidden;
  FrozenDecoder decoder(model, Compute::kF32);
  FullAttention full(decoder, AttendCompute::kF32, false);
  const auto tokens = golden["ids"].get<std::vector<int32_t>>();
  const View<const float> states = decoder.forward(tokens, full, false);
  for (size_t i = 0; i < golden["positions"].size(); ++i) {
    std::vector<float> normed(static_cast<size_t>(hidden));
    decoder.final_norm(states.from(golden["positions"][i].get<int64_t>() * hidden), 1,
                       normed.data());
    LinearInput input;
    input.assign(normed.data(), 1, hidden);
    std::vector<float> logits(static_cast<size_t>(model.config.vocab));
    linear(input, {.weight = model.head, .y = logits.data()}, Compute::kF32);
    const auto expected = golden["logits"][i].get<std::vector<float>>();
    EXPECT_EQ(logits.size(), expected.size());
    float largest = 0;
    for (const float x : expected) largest = std::max(largest, std::abs(x));
    for (size_t t = 0; t < logits.size(); ++t) {
      EXPECT_NEAR(logits[t], expected[t], 1e-3f * largest) << t;
    }
  }
  return true;
}

TEST(FrozenDecoder, ReadsEveryTinyModelAsOtherEnginesDo) {
  const fs::path folder = fs::path(LONGHAUL_TEST_DATA) / "tiny_models";
  int models = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!fs::exists(entry.path() / "logits.json")) continue;
    models += expect_logits(entry.path(), entry.path() / "logits.json") ? 1 : 0;
  }
  for (const auto& entry : fs::directory_iterator(folder / "gguf")) {
    if (entry.path().extension() != ".gguf") continue;
    const fs::path golden = fs::path(entry.path()).replace_extension(".json");
    models += expect_logits(entry.path(), golden) ? 1 : 0;
  }
  EXPECT_GE(models, 14);
}

}  // namespace
}  // namespace longhaul
