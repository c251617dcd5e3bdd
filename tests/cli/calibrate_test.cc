// longhaul calibrate: methods find what it saves, and Ctrl-C loses nothing.

#include <gtest/gtest.h>

#include "cli/bare_nano.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using testing_support::bare_nano;
using testing_support::has;
using testing_support::Outcome;
using testing_support::Program;

Outcome ask(Program& program, const std::string& model, const std::string& attention) {
  return program.run({"run", "-m", model, "-p", "Where?", "-n", "1", "--attention", attention});
}

TEST(Calibrate, SavesGatesWhereDuoFindsThem) {
  Program program;
  const std::string model = bare_nano(program).string();
  EXPECT_TRUE(refused(ask(program, model, "duo"), {"duo", "gates"}));
  const Program::Arguments train{"calibrate",  "duo",       "-m",       model,     "--tasks",
                                 "magic",      "--lengths", "400",      "--steps", "2",
                                 "--sparsity", "0.75",      "--recent", "64",      "--save"};
  const Outcome o = program.run(train);
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has(o.out, {"gates of its KV heads", "2 of 2 steps", "mean gate 0.",
                          "No gate is below 0.5: 2 steps"}));
  EXPECT_TRUE(has(o.err, {"written: ", "duo.json"}));
  EXPECT_EQ(ask(program, model, "duo").status, 0);
  EXPECT_TRUE(refused(program.run(train), {"--save: ", "duo.json is there already"}));
}

TEST(Calibrate, CtrlCKeepsTheGatesAndTheStateGoesOn) {
  Program program;
  const fs::path state = program.folder().path() / "state", gates = program.folder().path() / "g";
  Program::Arguments train{"calibrate",    "duo",     "--tasks",     "magic",  "--lengths",
                           "300",          "--steps", "5000",        "--json", "--gates",
                           gates.string(), "--state", state.string()};
  const Outcome stopped = program.run_and_interrupt(train, [&] { return fs::exists(state); });
  ASSERT_EQ(stopped.status, 130) << stopped.err;
  EXPECT_FALSE(stopped.json()["finished"]);
  EXPECT_GE(stopped.json()["steps"], 1);
  EXPECT_TRUE(fs::exists(gates));
  train[6] = "--penalty";  // other settings: a different training
  train[7] = "1";
  EXPECT_TRUE(refused(program.run(train), {state.string(), "other settings"}));
}

TEST(Calibrate, SavesALayerRankingOfWhichTriangleMixTakesTheFirst) {
  Program program;
  const std::string model = bare_nano(program).string();
  const Program::Arguments probe{"calibrate", "trianglemix", "-m",  model,    "--prompts",
                                 "1",         "--tokens",    "400", "--save", "--json"};
  const Outcome o = program.run(probe);
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(o.json()["ranking"].size(), 11u);  // the last layer is not ranked
  EXPECT_EQ(o.json()["triangle_layers"], 6);
  EXPECT_EQ(ask(program, model, "trianglemix").status, 0);
  EXPECT_EQ(ask(program, model, "trianglemix:triangle_layers=11").status, 0);
  EXPECT_TRUE(refused(ask(program, model, "trianglemix:triangle_layers=12"), {"triangle_layers"}));
}

TEST(Calibrate, LtrisHeadsAndThresholdsServeBothForms) {
  Program program;
  const std::string model = bare_nano(program).string();
  const Program::Arguments search{"calibrate", "ltri", "-m",       model, "--tasks",   "fact",
                                  "--lengths", "512",  "--trials", "5",   "--block",   "32",
                                  "--n-init",  "16",   "--save",   "-q",  "--prompts", "1"};
  const Outcome o = program.run(search);
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has(o.out, {"theta", "retrieval heads; 1 of 1 replies counted",
                          "ltri:heads=", "1 of 1 prompts in"}));
  EXPECT_TRUE(has(o.err, {"written: ", "ltri.json"}));
  const auto named = [&](const std::string& attention) {
    return program
        .run({"run", "-m", model, "-p", "Where?", "-n", "1", "--json", "--attention", attention})
        .json()["attention"];
  };
  EXPECT_EQ(named("ltri"), "ltri:form=longhaul");
  EXPECT_EQ(named("ltri:form=paper"), "ltri:form=paper");
  EXPECT_TRUE(refused(program.run(search), {"--save: ", "ltri.json is there already"}));
}

TEST(Calibrate, CtrlCKeepsTheBestSettingOfReattention) {
  Program program;
  const std::string model = bare_nano(program).string();
  const fs::path state = program.folder().path() / "state";
  const Outcome stopped = program.run_and_interrupt(
      {"calibrate", "reattention", "-m", model, "--lengths", "1300", "--tasks", "magic",
       "--prompts", "4", "--state", state.string(), "--save"},
      [&] { return fs::exists(state); });
  ASSERT_EQ(stopped.status, 130) << stopped.err;
  EXPECT_TRUE(has(stopped.out, {"setting", "--attention reattention:global=32", " answers in "}));
  EXPECT_EQ(ask(program, model, "reattention").status, 0);
}

TEST(Calibrate, AllWritesProfilesAndAPageAndGoesOnWhereItEnded) {
  Program program;
  const std::string model = bare_nano(program).string();
  const fs::path out = program.folder().path() / "found";
  const Program::Arguments all{
      "calibrate", "all", "-m",      model,       "--methods", "trianglemix,ltri,minference",
      "--tokens",  "400", "--tasks", "fact",      "--lengths", "512",
      "--trials",  "5",   "--block", "32",        "--n-init",  "16",
      "--prompts", "1",   "--out",   out.string()};
  const Outcome o = program.run(all);
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has(o.out, {"all together", "Prefill of 512 tokens", "1 of 1 prompts", "minference\n",
                          "all in ", "calibration.html"}));
  for (const char* file : {"trianglemix.json", "ltri.json", "minference.json",
                           "minference_patterns.json", "calibration.html", "ltri.state"}) {
    EXPECT_TRUE(fs::exists(out / file)) << file;
  }
  std::ifstream in(out / "calibration.html");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  EXPECT_TRUE(
      has(page, {"<svg", "id=\"trianglemix\"", "id=\"ltri\"", "Pattern of every query head"}));
  // The folder can be used as profiles.
  const Outcome used = program.run({"run", "-m", model, "--profiles", out.string(), "-p", "Where?",
                                    "-n", "1", "--json", "--attention", "ltri"});
  EXPECT_EQ(used.json()["attention"], "ltri:form=longhaul") << used.err;

  Program::Arguments again = all;
  again.insert(again.end(), {"--save", "--json"});
  const Outcome saved = program.run(again);
  ASSERT_EQ(saved.status, 0) << saved.err;
  EXPECT_TRUE(saved.json()["finished"]);
  EXPECT_EQ(saved.json()["methods"].size(), 3u);
  EXPECT_TRUE(has(saved.err, {"0 of 1 prompts", "written: "}));
  EXPECT_EQ(ask(program, model, "minference").status, 0);
  EXPECT_TRUE(refused(program.run(again), {"--save: ", "there already"}));
}

TEST(Calibrate, AllRefusesFlagsOfOneRunAlone) {
  Program program;
  EXPECT_TRUE(refused(program.run({"calibrate", "all", "--state", "x"}), {"--state"}));
  EXPECT_TRUE(refused(program.run({"calibrate", "all", "--methods", "tova"}), {"tova"}));
  EXPECT_TRUE(refused(program.run({"calibrate", "duo", "--out", "x"}), {"--out", "all"}));
  EXPECT_TRUE(refused(program.run({"calibrate", "reattention", "--lengths", "600"}), {"640"}));
}

}  // namespace
}  // namespace longhaul
