#include "engine/sampling_defaults.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "format/gguf_builder.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::TempFolder;

/// The defaults of nano with another generation_config.json.
std::optional<SamplingDefaults> with_config(const std::string& config) {
  namespace fs = std::filesystem;
  const TempFolder folder;
  for (const auto& entry : fs::directory_iterator(fs::path(LONGHAUL_MODELS) / "nano")) {
    if (entry.path().filename() == "generation_config.json") continue;
    fs::create_symlink(entry.path(), folder.path() / entry.path().filename());
  }
  std::ofstream(folder.path() / "generation_config.json") << config;
  return sampling_defaults(open_checkpoint(folder.path()));
}

TEST(SamplingDefaults, OfAConfigThatAsksForDrawing) {
  const auto found = with_config(
      R"({"do_sample": true, "temperature": 0.7, "top_p": 0.8, "top_k": 20, "repetition_penalty": 1.05})");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->source, "generation_config.json");
  EXPECT_EQ(sampling_text(found->sampler),
            "temperature 0.7, top-k 20, top-p 0.8, repeat penalty 1.05");
}

TEST(SamplingDefaults, WhatTheConfigLeavesOutIsAsInTransformers) {
  const auto found = with_config(R"({"do_sample": true})");
  ASSERT_TRUE(found);
  EXPECT_EQ(sampling_text(found->sampler), "temperature 1, top-k 50");
  // vLLM's notation for all tokens.
  const auto all = with_config(R"({"do_sample": true, "top_k": -1})");
  ASSERT_TRUE(all);
  EXPECT_EQ(sampling_text(all->sampler), "temperature 1");
}

TEST(SamplingDefaults, NoneWithoutDrawingAndNoneOutOfRange) {
  EXPECT_FALSE(with_config(R"({"temperature": 0.7})"));
  EXPECT_FALSE(with_config(R"({"do_sample": false, "temperature": 0.7})"));
  EXPECT_FALSE(with_config(R"({"do_sample": "yes", "temperature": 0.7})"));
  EXPECT_FALSE(with_config(R"({"do_sample": true, "temperature": -1})"));
  EXPECT_FALSE(with_config(R"({"do_sample": true, "top_p": 1e300})"));
  EXPECT_FALSE(with_config(R"({"do_sample": true, "top_k": -4e9})"));
}

}  // namespace
}  // namespace longhaul
