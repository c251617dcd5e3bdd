// longhaul calibrate: what it saves is found by the methods, and Ctrl-C loses nothing.

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
  EXPECT_TRUE(has(o.out, {"gates of its KV heads", "2 of 2 steps", "mean gate 0."}));
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
  train[6] = "--penalty";  // other settings: not the same training
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
  EXPECT_EQ(o.json()["ranking"].size(), 12u);
  EXPECT_EQ(o.json()["triangle_layers"], 6);
  EXPECT_EQ(ask(program, model, "trianglemix").status, 0);
  EXPECT_EQ(ask(program, model, "trianglemix:triangle_layers=12").status, 0);
  EXPECT_TRUE(refused(ask(program, model, "trianglemix:triangle_layers=13"), {"triangle_layers"}));
}

}  // namespace
}  // namespace longhaul
