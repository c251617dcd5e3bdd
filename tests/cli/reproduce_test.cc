// longhaul reproduce: the commands of docs/claims.md for large models.

#include <gtest/gtest.h>

#include "cli/program.h"

namespace longhaul {
namespace {

using testing_support::has;
using testing_support::Outcome;
using testing_support::Program;
using testing_support::refused;

TEST(Reproduce, PrintsTheCommandsOfAPaperAndOfATable) {
  const Outcome all = Program().run({"reproduce"});
  EXPECT_EQ(all.status, 0) << all.err;
  EXPECT_TRUE(has(all.out, {"Ltri-LLM, table 2: ", "CItruS, ", "TriangleMix, ", "ReAttention, ",
                            "DuoAttention, ", "\n  longhaul eval ruler -m MODEL --data DIR"}));
  const Outcome one = Program().run({"reproduce", "duoattention", "Table 4"});  // "tables 3 to 6"
  EXPECT_EQ(one.out,
            "DuoAttention, figure 7, tables 3 to 6: LongBench; FastGen\n"
            "  longhaul calibrate duo -m MODEL --save\n"
            "  longhaul eval longbench -m MODEL --data DIR --samples 500 --opening off --attention "
            "dense,duo,h2o,tova,streamingllm,fastgen\n");
  EXPECT_TRUE(has(Program().run({"reproduce", "Ltri", "table 8", "-m", "big one.gguf"}).out,
                  {"longhaul calibrate ltri -m 'big one.gguf' --save\n",
                   "longhaul eval ruler -m 'big one.gguf' --data DIR --lengths 4096,8192,16384"}));
}

TEST(Reproduce, EveryPaperHasCommandsForLargeModels) {
  for (const char* paper : {"ltri", "citrus", "trianglemix", "reattention", "duo"}) {
    const Outcome o = Program().run({"reproduce", paper, "-m", "big.gguf", "--data", "files"});
    EXPECT_EQ(o.status, 0) << paper << ": " << o.err;
    EXPECT_TRUE(has(o.out, {" -m big.gguf --data files "})) << paper;
  }
}

TEST(Reproduce, GivenProfilesReplaceTheSearchForSettings) {
  const Outcome o = Program().run(
      {"reproduce", "duoattention", "table 7", "--profiles", "llama-3-8b-instruct-262k"});
  EXPECT_TRUE(has(o.out, {"longhaul eval ruler ", " --profiles llama-3-8b-instruct-262k\n"}));
  EXPECT_EQ(o.out.find("calibrate"), std::string::npos) << o.out;
}

TEST(Reproduce, RunsTheCommandOfATableWithModelAndData) {
  Program program;
  const std::string data = program.folder().path().string();
  const Outcome o =
      program.run({"reproduce", "duoattention", "table 7", "-m", "./nothere", "--data", data});
  EXPECT_EQ(o.status, 2) << "the status of the command";
  EXPECT_TRUE(has(o.out, {"longhaul eval ruler -m ./nothere --data " + data}));
  EXPECT_TRUE(has(o.err, {"./nothere"}));
}

TEST(Reproduce, WhatNeedsNoLargeModelIsRefused) {
  EXPECT_TRUE(refused(Program().run({"reproduce", "duoattention", "table 99"}),
                      {"'table 99' of 'duoattention'", "docs/claims.md"}));
  EXPECT_TRUE(refused(Program().run({"reproduce", "attention is all"}), {"'attention is all'"}));
}

}  // namespace
}  // namespace longhaul
