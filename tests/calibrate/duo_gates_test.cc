// Training of gates: it reduces its loss, resumes, and keeps the best gates.

#include "calibrate/duo_gates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "eval/nano.h"
#include "format/temp_folder.h"
#include "ops/fake_device.h"

namespace longhaul {
namespace {

using testing_support::nano;
using testing_support::TempFolder;
using testing_support::test_data;

DuoTraining short_training() {
  DuoTraining t;
  t.steps = 3;
  t.rate = 0.05;
  t.tasks = {"passkeys", "magic"};
  t.words = 1;
  t.shortest = 800;
  t.longest = 800;
  t.sight = {16, 64};
  return t;
}

DuoTrainer trainer_of(const DuoTraining& settings) {
  return {nano(), test_data(), nano()->chat_template(), settings};
}

TEST(DuoTrainer, ClosesHeadsThatNothingMissesAndGoesOnFromItsFile) {
  const TempFolder folder;
  DuoTrainer whole = trainer_of(short_training()), half = trainer_of(short_training());
  const DuoStep first = whole.step();
  EXPECT_LT(first.difference, 1e-4) << "with all gates open it is the model";
  EXPECT_EQ(first.gates, 1);
  EXPECT_NEAR(first.loss, 0.05, 1e-4);
  while (!whole.finished()) whole.step();
  // Layer 0 has no long-range head. (5,0) and (8,2) read the answer (models/nano/README.md).
  const Gates& gates = whole.gates();
  EXPECT_LT(gates[0][0], 0.92f);
  EXPECT_GT(gates[5][0], gates[0][0]);
  EXPECT_GT(gates[8][2], gates[0][0]);

  half.step();
  half.save(folder.path() / "state");
  DuoTrainer rest = trainer_of(short_training());
  rest.restore(folder.path() / "state");
  EXPECT_EQ(rest.done(), 1);
  while (!rest.finished()) rest.step();
  EXPECT_EQ(rest.gates(), whole.gates());
  EXPECT_EQ(rest.best(), whole.best());
}

TEST(DuoTrainer, ADeviceTakesTheHostsSteps) {
  DuoTraining settings = short_training();
  settings.compute = Compute::kF32;
  settings.tasks = {"magic"};
  settings.shortest = settings.longest = 400;
  for (const auto full : {GatedAttention::Full::kOfStream, GatedAttention::Full::kOfModel}) {
    settings.full = full;
    settings.queue = {};
    DuoTrainer here = trainer_of(settings);
    settings.queue = testing_support::fake_queue();
    DuoTrainer there = trainer_of(settings);
    for (int step = 0; step < 2; ++step) {
      const DuoStep expected = here.step(), found = there.step();
      EXPECT_NEAR(found.difference, expected.difference, 1e-4 * expected.difference + 1e-9);
      EXPECT_EQ(found.answer_tokens, expected.answer_tokens);
    }
    for (size_t layer = 0; layer < here.gates().size(); ++layer) {
      for (size_t head = 0; head < here.gates()[layer].size(); ++head) {
        EXPECT_NEAR(there.gates()[layer][head], here.gates()[layer][head], 1e-3) << layer;
      }
    }
  }
  nano()->leave_device();
}

TEST(DuoTrainer, RefusesAStateThatIsNotItsOwn) {
  const TempFolder folder;
  trainer_of(short_training()).save(folder.path() / "state");
  DuoTraining other = short_training();
  other.penalty = 0.1;
  DuoTrainer stranger = trainer_of(other);
  EXPECT_THROW(stranger.restore(folder.path() / "state"), UserError);
  EXPECT_THROW(stranger.restore(folder.write("broken", "{\"training\": \"duo\"}")), UserError);
  other.tasks = {"passkey", "nothing"};
  EXPECT_THROW(trainer_of(other), UserError);
}

}  // namespace
}  // namespace longhaul
