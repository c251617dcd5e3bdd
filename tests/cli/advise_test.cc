// longhaul advise, on models/nano (trained for 8,192 tokens).

#include <gtest/gtest.h>

#include <map>

#include "attention/registry.h"
#include "cli/program.h"
#include "cli/texts.h"

namespace longhaul {
namespace {

using testing_support::has;
using testing_support::long_text;
using testing_support::Program;
using testing_support::refused;

std::string text_of(int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += long_text();
  return text;
}

TEST(Advise, OneRecommendationComesFirst) {
  Program program;
  const auto advice = [&](int times, Program::Arguments more = {}) {
    more.insert(more.begin(), {"advise", program.folder().write("text.txt", text_of(times))});
    return program.run(more).out;
  };
  EXPECT_TRUE(advice(1).starts_with("Try --attention dense: ")) << advice(1);
  const std::string beyond = advice(7);
  EXPECT_TRUE(beyond.starts_with("Try --attention reattention: ")) << beyond;
  EXPECT_TRUE(
      has(beyond, {" tokens and 1,024 for question and reply; the model was trained for 8,192",
                   "or --attention ", "prefill takes about ", "--all lists all "}));
  EXPECT_EQ(beyond.find("streamingllm"), std::string::npos) << "it forgets the middle: " << beyond;
  EXPECT_TRUE(has(advice(7, {"--all"}), {"passed", "none: defaults", "streamingllm"}));
  EXPECT_TRUE(refused(
      program.run({"advise", program.folder().path() / "text.txt", "--memory-limit", "41M"}),
      {"--memory-limit", "weights"}));
}

TEST(Advise, EveryMethodOfTheRegistryWithWhatItTakes) {
  Program program;
  const std::string file = program.folder().write("text.txt", text_of(4));
  const auto json = program.run({"advise", "--json", file, "-n", "0"}).json();
  std::map<std::string, nlohmann::json> rows;
  for (const auto& row : json["methods"]) rows[row["attention"]] = row;
  EXPECT_EQ(rows.size(), attention_methods().size());
  const int64_t tokens = json["tokens"];
  EXPECT_GT(tokens, 4000);
  const auto& dense = rows["dense"];
  EXPECT_GE(dense["memory_bytes"].get<int64_t>(), tokens * 9216 + (40 << 20));
  EXPECT_TRUE(dense["fits"]);
  EXPECT_LT(rows["streamingllm"]["memory_bytes"], dense["memory_bytes"]);
  EXPECT_LE(rows["streamingllm"]["reading_seconds_at_most"], dense["reading_seconds_at_most"]);
  EXPECT_GT(dense["prefill_seconds_at_most"].get<double>(), 0);
  EXPECT_EQ(dense["prefill_seconds_at_most"], dense["reading_seconds_at_most"]) << "an alias";
  EXPECT_TRUE(rows["ltri"]["profile"]);
  EXPECT_FALSE(rows["snapkv"]["profile"]);
}

TEST(Advise, TheBestAreMeasured) {
  Program program;
  const std::string file = program.folder().write("text.txt", text_of(7));
  const auto best = program.run({"advise", "--json", file}).json()["best"];
  ASSERT_GE(best.size(), 2u);
  ASSERT_LE(best.size(), 3u);
  for (const auto& method : best) {
    EXPECT_GT(method["reading_seconds"].get<double>(), 0);
    EXPECT_NE(method["attention"], "streamingllm");
  }
  EXPECT_EQ(best[0]["attention"], "reattention");
  EXPECT_TRUE(best[0]["sources"]);
}

TEST(Advise, ModelsOfTheCatalogueNeedNotBeHere) {
  Program program;
  const std::string file = program.folder().write("text.txt", text_of(2));
  const auto o = program.run({"advise", file, "-m", "qwen3-4b"});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has(o.out, {"qwen3-4b has not been fetched: 'longhaul pull qwen3-4b'",
                          " tokens; the model was "
                          "trained for "}));
  EXPECT_FALSE(program.run({"advise", file, "-m", "qwen3-4b", "--json"}).json()["fetched"]);
}

TEST(Advise, WhatIsNoTextIsRefused) {
  EXPECT_TRUE(refused(Program().run({"advise"}), {"files", "longhaul advise --help"}));
  EXPECT_TRUE(refused(Program().run({"advise", "/no/such"}), {"/no/such"}));
  EXPECT_TRUE(refused(Program().run({"advise", "-"}, "\n"), {"standard input", "no text"}));
}

}  // namespace
}  // namespace longhaul
