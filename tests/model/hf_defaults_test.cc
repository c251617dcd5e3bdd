// A config.json that leaves keys out, or says one thing in two keys, means what transformers makes
// of it: tests/data/goldens/hf_defaults.json, written by tools/make_goldens.py hf-defaults.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error_of.h"
#include "format/checkpoint.h"
#include "format/safetensors_builder.h"
#include "format/temp_folder.h"
#include "model/config.h"

namespace longhaul {
namespace {

using nlohmann::json;
using testing_support::TempFolder;

json defaults_golden() {
  std::ifstream in(std::filesystem::path(LONGHAUL_TEST_DATA) / "goldens/hf_defaults.json");
  return json::parse(in);
}

ModelConfig config_of_json(const json& config) {
  const TempFolder folder;
  folder.write("config.json", config.dump());
  folder.write("model.safetensors", testing_support::safetensors("{}", ""));
  return read_config(open_checkpoint(folder.path()));
}

void expect_angles(const ModelConfig& c, const json& expected, int64_t length) {
  const RopeTable table = make_rope(c.rope, length);
  const auto want = expected["inverse_frequency"].get<std::vector<double>>();
  ASSERT_EQ(table.inverse_frequency.size(), want.size());
  for (size_t t = 0; t < want.size(); ++t) {
    EXPECT_NEAR(table.inverse_frequency[t] / want[t], 1, 2e-6) << "pair " << t;
  }
  EXPECT_NEAR(table.attention_factor, expected["attention_factor"].get<double>(), 1e-6);
  const auto window_base = expected["window_rope_base"].get<double>();
  if (window_base > 0) {
    EXPECT_EQ(c.other_rope.base, window_base);
  }
}

TEST(HuggingFaceDefaults, AreThoseOfTransformers) {
  const json all = defaults_golden();
  ASSERT_GE(all["cases"].size(), 200u);
  for (const json& each : all["cases"]) {
    SCOPED_TRACE(each["config"].dump());
    const json& expected = each["expected"];
    const ModelConfig c = config_of_json(each["config"]);
    expect_angles(c, expected, all["length"].get<int64_t>());
    EXPECT_EQ(json(c.window), expected["windows"]);
    if (!expected["still"].empty()) {
      const std::vector<uint8_t> none(8, 0);
      EXPECT_EQ(json(c.other_angles.empty() ? none : c.other_angles), expected["still"]);
    }
    EXPECT_EQ(c.kv_heads, std::vector<int>(8, expected["kv_heads"].get<int>()));
    EXPECT_EQ(c.head_dim, expected["head_dim"]);
    EXPECT_FLOAT_EQ(c.norm_eps, expected["norm_eps"].get<float>());
    EXPECT_EQ(c.trained_context, expected["context"]);
    EXPECT_EQ(c.experts, expected["experts"]);
    EXPECT_EQ(c.experts_used, expected["experts_used"]);
  }
}

TEST(HuggingFaceDefaults, AnIntervalOfStillLayersIsPositive) {
  const std::string error = testing_support::error_of([] {
    config_of_json({{"model_type", "smollm3"},
                    {"vocab_size", 264},
                    {"hidden_size", 64},
                    {"intermediate_size", 64},
                    {"num_hidden_layers", 8},
                    {"num_attention_heads", 8},
                    {"no_rope_layer_interval", 0}});
  });
  EXPECT_NE(error.find("'no_rope_layer_interval' is 0, expected at least 1"), std::string::npos)
      << error;
}

}  // namespace
}  // namespace longhaul
