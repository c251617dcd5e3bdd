// Rotary scalings of config.json give transformers' angles and magnitude, or are refused by name.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error_of.h"
#include "model/config_hf_rope.h"

namespace longhaul {
namespace {

using nlohmann::json;

RopeSpec read(const json& config) {
  const ConfigFields fields("config.json", config);
  return HfRope(fields, false)
      .read(fields.integer("head_dim"), fields.integer("max_position_embeddings"));
}

std::string error_with(const json& rope) {
  return testing_support::error_if_any([&] {
    read({{"head_dim", 32}, {"max_position_embeddings", 256}, {"rope_scaling", rope}});
  });
}

TEST(HuggingFaceRope, AnglesAreThoseOfTransformers) {
  std::ifstream in(std::filesystem::path(LONGHAUL_TEST_DATA) / "goldens/rope/scalings.json");
  const json golden = json::parse(in);
  ASSERT_GE(golden["cases"].size(), 20u);
  for (const json& each : golden["cases"]) {
    const RopeTable table = make_rope(read(each["config"]), golden["length"].get<int64_t>());
    const auto want = each["inverse_frequency"].get<std::vector<double>>();
    ASSERT_EQ(table.inverse_frequency.size(), want.size()) << each["config"];
    for (size_t t = 0; t < want.size(); ++t) {
      EXPECT_NEAR(table.inverse_frequency[t] / want[t], 1, 2e-6) << each["config"] << " pair " << t;
    }
    EXPECT_NEAR(table.attention_factor, each["attention_factor"].get<double>(), 1e-6)
        << each["config"];
  }
}

TEST(HuggingFaceRope, WhatCannotBeIsNamed) {
  EXPECT_EQ(error_with({{"rope_type", "yarn"}, {"factor", 4}}), "");
  const std::string file = "config.json: rope scaling: ";
  EXPECT_EQ(error_with({{"rope_type", "default"}, {"alpha", 1000.0}}),
            file + "'alpha' is not supported");
  for (const char* type : {"linear", "dynamic", "llama3"}) {
    EXPECT_EQ(error_with({{"rope_type", type}}),
              fmt::format("config.json: rope scaling {}: 'factor' is missing", type));
  }
  for (const char* key : {"attention_factor", "beta_fast", "beta_slow", "factor"}) {
    json rope = {{"type", "yarn"}, {"factor", 4}};
    rope[key] = -1.5;
    EXPECT_EQ(error_with(rope), file + "'" + key + "' is -1.5, expected a positive number");
  }
  EXPECT_EQ(error_with({{"type", "yarn"}, {"factor", 4}, {"truncate", 1}}),
            "config.json: 'truncate' is '1', expected true or false");
  const std::string negative =
      error_with({{"type", "yarn"}, {"factor", 4}, {"mscale", -9}, {"mscale_all_dim", 1}});
  EXPECT_EQ(negative.find(file + "'mscale' -9 over 'mscale_all_dim' 1 gives -0.21"), 0u)
      << negative;
  EXPECT_EQ(error_with({{"type", "ntk"}}),
            "config.json: rope scaling is 'ntk'; supported: default, linear, llama3, yarn, "
            "dynamic, longrope, proportional");
}

}  // namespace
}  // namespace longhaul
