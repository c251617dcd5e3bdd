// Training of gates: it lowers what it minimises, goes on where it ended, and keeps the best.

#include "calibrate/duo_gates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "eval/nano.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::nano;
using testing_support::TempFolder;
using testing_support::test_data;

DuoTraining short_training() {
  DuoTraining t;
  t.steps = 4;
  t.rate = 0.2;
  t.tasks = {"passkeys", "magic"};
  t.words = 1;
  t.shortest = 800;
  t.longest = 900;
  t.sight = {16, 64};
  return t;
}

DuoTrainer trainer_of(const DuoTraining& settings) {
  return {nano(), test_data(), nano()->chat_template(), settings};
}

TEST(DuoTrainer, BeginsAtTheModelAndClosesHeadsThatNothingMisses) {
  DuoTrainer trainer = trainer_of(short_training());
  const DuoStep first = trainer.step();
  EXPECT_LT(first.difference, 1e-4) << "with all gates open it is the model";
  EXPECT_EQ(first.gates, 1);
  EXPECT_NEAR(first.loss, 0.05, 1e-4);
  while (!trainer.finished()) trainer.step();
  // Layer 0 looks back nowhere; (5,0) and (8,2) read what is asked for (models/nano/README.md).
  const Gates& gates = trainer.gates();
  EXPECT_LT(gates[0][0], 0.8f);
  EXPECT_GT(std::min(gates[5][0], gates[8][2]), gates[0][0]);
}

TEST(DuoTrainer, GoesOnFromItsFileAsIfItHadNotStopped) {
  const TempFolder folder;
  DuoTrainer whole = trainer_of(short_training()), half = trainer_of(short_training());
  while (!whole.finished()) whole.step();
  half.step();
  half.step();
  half.save(folder.path() / "state");
  DuoTrainer rest = trainer_of(short_training());
  rest.restore(folder.path() / "state");
  EXPECT_EQ(rest.done(), 2);
  while (!rest.finished()) rest.step();
  EXPECT_EQ(rest.gates(), whole.gates());
  EXPECT_EQ(rest.best(), whole.best());

  DuoTraining other = short_training();
  other.penalty = 0.1;
  DuoTrainer stranger = trainer_of(other);
  EXPECT_THROW(stranger.restore(folder.path() / "state"), UserError);
  EXPECT_THROW(stranger.restore(folder.write("broken", "{\"training\": \"duo\"}")), UserError);
}

}  // namespace
}  // namespace longhaul
