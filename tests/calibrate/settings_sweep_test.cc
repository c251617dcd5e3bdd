// Search for the best setting: halving, resuming, the best so far.

#include "calibrate/settings_sweep.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "eval/nano.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::nano;
using testing_support::TempFolder;
using testing_support::test_data;

/// Two settings that evict the text, and two that keep it; the second of these costs less.
SweepSettings four_settings() {
  SweepSettings s;
  s.method = "streamingllm";
  s.tried = {{"streamingllm:sink=2,recent=12", 14},
             {"streamingllm:sink=4,recent=900", 904},
             {"streamingllm:sink=4,recent=800", 804},
             {"streamingllm:sink=2,recent=16", 18}};
  s.tasks = {"magic"};
  s.lengths = {300};
  s.prompts = 1;
  s.chat = nano()->chat_template();
  return s;
}

SettingsSweep sweep() { return {nano(), test_data(), four_settings()}; }

TEST(SettingsSweep, TheBetterHalfGoesOnAndTheCheapestOfTheBestIsTaken) {
  SettingsSweep whole = sweep();
  EXPECT_EQ(whole.total(), 4 + 2);
  EXPECT_EQ(whole.best(), 0u) << "nothing is known yet";
  while (!whole.finished()) ASSERT_TRUE(whole.advance(nullptr));
  EXPECT_EQ(whole.done(), 6);
  EXPECT_EQ(whole.best(), 2u);
  const auto& scored = whole.scored();
  EXPECT_EQ(scored[0].asked, 1);
  EXPECT_EQ(scored[1].asked, 2);
  EXPECT_EQ(scored[2].asked, 2);
  EXPECT_EQ(scored[2].mean(), 1);
  EXPECT_EQ(scored[0].mean(), 0);
  EXPECT_FALSE(scored[0].left || scored[3].left);
  EXPECT_TRUE(scored[1].left) << "as good as the best";
}

TEST(SettingsSweep, GoesOnFromItsFileWhereverItStood) {
  const TempFolder folder;
  SettingsSweep running = sweep();
  SettingsSweep whole = sweep();
  while (!whole.finished()) ASSERT_TRUE(whole.advance(nullptr));
  while (!running.finished()) {
    running.save(folder.path() / "state");
    SettingsSweep rest = sweep();
    rest.restore(folder.path() / "state");
    EXPECT_EQ(rest.done(), running.done());
    EXPECT_EQ(rest.total(), running.total());
    EXPECT_EQ(rest.best(), running.best());
    EXPECT_EQ(rest.note(), running.note());
    ASSERT_TRUE(running.advance(nullptr));
  }
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(running.scored()[i].sum, whole.scored()[i].sum);
  SweepSettings other = four_settings();
  other.seed = 2;
  SettingsSweep stranger(nano(), test_data(), other);
  EXPECT_THROW(stranger.restore(folder.path() / "state"), UserError);
}

TEST(SettingsSweep, WhatWasNotAskedAlikeIsNotCompared) {
  SettingsSweep running = sweep();
  ASSERT_TRUE(running.advance(nullptr));
  ASSERT_TRUE(running.advance(nullptr));
  EXPECT_EQ(running.best(), 0u) << "two of four have answered the first prompt";
  CancelFlag cancel;
  cancel.request();
  EXPECT_FALSE(running.advance(&cancel));
  EXPECT_EQ(running.done(), 2);
}

TEST(SettingsSweep, RefusesWhatTheModelCannotHave) {
  SweepSettings bad = four_settings();
  bad.tried.push_back({"reattention:local=100", 1});
  EXPECT_THROW(SettingsSweep(nano(), test_data(), bad), UserError);
}

}  // namespace
}  // namespace longhaul
