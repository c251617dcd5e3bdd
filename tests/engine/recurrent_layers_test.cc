// Models with recurrent layers (Qwen3-Next, LFM2, Granite 4 H, ...): their state belongs to the
// sequence, on the host and, for gated delta nets, on a device. Logits compared with transformers:
// reference_logits_test.cc; logits of a device: device_families_test.cc. Every method:
// families_test.cc.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/cancel.h"
#include "base/error.h"
#include "engine/exact_logits.h"
#include "engine/model_runner.h"
#include "engine/session.h"
#include "engine/tiny_models.h"
#include "format/temp_folder.h"
#include "ops/fake_device.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;

struct RecurrentCase {
  const char* model;
  bool on_device;
};

class RecurrentLayers : public testing::TestWithParam<RecurrentCase> {
 protected:
  void SetUp() override {
    engine_ = Engine::open(fs::path(LONGHAUL_TEST_DATA) / "tiny_models" / GetParam().model);
    if (GetParam().on_device) queue_ = testing_support::fake_queue();
  }
  Session session(int64_t every = 40, int chunk = 20) const {
    SessionOptions options = testing_support::exact_options(chunk);
    options.state_every = every;
    options.queue = queue_;
    return {engine_, options};
  }
  static std::vector<int32_t> text(int32_t count, int32_t seed = 3) {
    return testing_support::scattered_tokens(count, seed);
  }
  static std::vector<float> logits_of(const Session& session) {
    return {session.logits().begin(), session.logits().end()};
  }
  /// Logits after `ids` and then after each of `further`, read one by one.
  std::vector<float> read_anew(const std::vector<int32_t>& ids) const {
    Session fresh = session();
    fresh.prefill(ids);
    return logits_of(fresh);
  }

  Queue queue_;
  std::shared_ptr<const Engine> engine_;
};

TEST_P(RecurrentLayers, MethodsSeeLayersWithAttentionOnly) {
  const Model& model = engine_->model();
  const ModelConfig& c = model.config;
  EXPECT_EQ(model.shape.layers, c.attention_layers());
  EXPECT_EQ(std::ssize(model.shape.kv_heads), c.attention_layers());
  EXPECT_GE(c.recurrent_layers(), 2);
  EXPECT_GT(c.layer_state(), 0);
  if (c.delta.empty()) return;
  EXPECT_EQ(c.layers, 5);
  EXPECT_EQ(c.attention_layers(), 1);
  EXPECT_EQ(c.attention_before(3), 0);
  EXPECT_EQ(c.recurrent_before(4), 3);
}

TEST_P(RecurrentLayers, DecodeGivesWhatPrefillGives) {
  const std::vector<int32_t> ids = text(150);
  Session decoded = session();
  decoded.prefill(std::span(ids).first(70));
  for (size_t i = 70; i < ids.size(); ++i) decoded.decode(ids[i]);
  EXPECT_LT(testing_support::furthest(logits_of(decoded), read_anew(ids)), 1e-4);
}

TEST_P(RecurrentLayers, ClonesContinueWithTheSameBits) {
  Session original = session();
  original.prefill(text(75));
  original.decode(7);
  Sequence copy = original.sequence().clone();
  original.decode(9);
  original.runner().decode(copy, 9);
  EXPECT_TRUE(std::ranges::equal(copy.logits(), original.logits()));
  original.decode(11);  // does not change the copy
  original.runner().decode(copy, 12);
  original.runner().decode(copy, 13);
  Session other = session();
  other.prefill(text(75));
  for (const int32_t token : {7, 9, 12, 13}) other.decode(token);
  EXPECT_TRUE(std::ranges::equal(copy.logits(), other.logits()));
}

TEST_P(RecurrentLayers, SessionsAreSavedAndLoaded) {
  const testing_support::TempFolder folder;
  const fs::path file = folder.path() / "session";
  Session saved = session();
  saved.prefill(text(90));
  saved.decode(5);
  saved.save(file);
  Session loaded = session();
  loaded.load(file);
  saved.decode(6);
  loaded.decode(6);
  EXPECT_EQ(logits_of(loaded), logits_of(saved));
  std::vector<int32_t> other = text(90);
  other.resize(85);
  const int64_t kept = loaded.reuse_prefix(other);  // stored states are in the file
  EXPECT_GE(kept, 40);
  EXPECT_LT(kept, 85);

  Session plain(Engine::open(fs::path(LONGHAUL_TEST_DATA) / "tiny_models/qwen3"), {});
  EXPECT_THROW(plain.load(file), UserError);
}

TEST_P(RecurrentLayers, AnotherContinuationBeginsAtAStoredState) {
  Session reused = session();
  reused.prefill(text(130));
  std::vector<int32_t> other = text(130);
  for (size_t i = 110; i < other.size(); ++i) other[i] = 9;
  const int64_t kept = reused.reuse_prefix(other);
  EXPECT_GE(kept, 80);
  EXPECT_LE(kept, 110);
  EXPECT_EQ(std::ssize(reused.tokens()), kept);
  reused.prefill(std::span(other).subspan(static_cast<size_t>(kept)));
  EXPECT_LT(testing_support::furthest(logits_of(reused), read_anew(other)), 1e-4);

  Session early = session();
  early.prefill(text(39));
  EXPECT_EQ(early.reuse_prefix(text(39, 4)), 0);  // nothing in common
  Session ended = session();
  ended.prefill(text(39));
  ended.decode(3);
  std::vector<int32_t> longer = text(60);
  EXPECT_EQ(ended.reuse_prefix(longer), 39);  // the end of the prompt is stored
  Session none = session(0);
  none.prefill(text(130));
  EXPECT_EQ(none.reuse_prefix(other), 0);
}

TEST_P(RecurrentLayers, CancelledGroupsAreTakenBack) {
  Session cancelled = session(40, 50);
  cancelled.prefill(text(60));
  CancelFlag cancel;
  PrefillHooks hooks;
  hooks.cancel = &cancel;
  hooks.progress = [&](int64_t done, int64_t) {
    if (done > 55) cancel.request();
  };
  EXPECT_FALSE(cancelled.prefill(text(120, 8), hooks));
  const auto done = cancelled.tokens().size();
  EXPECT_GT(done, 60u);
  EXPECT_LT(done, 180u);
  std::vector<int32_t> rest = text(120, 8);
  cancelled.prefill(std::span(rest).subspan(done - 60));
  std::vector<int32_t> all = text(60);
  all.insert(all.end(), rest.begin(), rest.end());
  EXPECT_LT(testing_support::furthest(logits_of(cancelled), read_anew(all)), 1e-4);
}

/// Values are equal to the bit on the host and up to rounding on a device.
TEST_P(RecurrentLayers, BatchesGiveEachSequenceItsOwnValues) {
  Session one = session();
  std::vector<Sequence> sequences;
  std::vector<std::vector<float>> alone;
  for (const int32_t length : {20, 47, 90}) {
    Session own = session();
    own.prefill(text(length));
    sequences.push_back(own.sequence().clone());
    own.decode(length);
    own.decode(3);
    alone.push_back(logits_of(own));
  }
  for (const bool second : {false, true}) {
    std::vector<DecodeRow> rows;
    for (Sequence& each : sequences) {
      const auto length = static_cast<int32_t>(each.tokens().size());
      rows.push_back({&each, second ? 3 : length});
    }
    one.runner().decode(rows);
  }
  for (size_t i = 0; i < sequences.size(); ++i) {
    const double most = GetParam().on_device ? 1e-4 : 0;
    const std::span<const float> logits = sequences[i].logits();
    const std::vector<float> together(logits.begin(), logits.end());
    EXPECT_LE(testing_support::furthest(together, alone[i]), most) << i;
  }
}

TEST_P(RecurrentLayers, CopiesOfAPrefixBeginAtAStoredState) {
  Session dense = session();
  dense.prefill(text(130));
  const ContextCopy copy = dense.copy_context();
  std::vector<int32_t> other = text(130);
  for (size_t i = 100; i < other.size(); ++i) other[i] = 9;
  Session shared = session();
  const int64_t taken = shared.begin_with(copy, other);
  EXPECT_GE(taken, 80);
  EXPECT_LT(taken, 100);
  shared.prefill(std::span(other).subspan(static_cast<size_t>(taken)));
  EXPECT_LT(testing_support::furthest(logits_of(shared), read_anew(other)), 1e-4);
}

TEST_P(RecurrentLayers, ForecastsCountStoredStates) {
  Session every = session(20, 20), none = session(0, 20);
  EXPECT_GT(every.forecast(100).kv, none.forecast(100).kv);
  const size_t forecast = every.forecast(100).kv;
  every.prefill(text(100));
  EXPECT_GE(forecast, every.report().kv_bytes);
  none.prefill(text(100));
  EXPECT_LT(none.report().kv_bytes, every.report().kv_bytes);
}

TEST_P(RecurrentLayers, SessionsMoveBetweenPlaces) {
  const testing_support::TempFolder folder;
  Session saved = session();
  saved.prefill(text(90));
  saved.save(folder.path() / "session");
  SessionOptions options = testing_support::exact_options(20);
  options.state_every = 40;
  if (!GetParam().on_device) options.queue = testing_support::fake_queue();
  Session moved(engine_, options);
  moved.load(folder.path() / "session");
  saved.decode(6);
  moved.decode(6);
  EXPECT_LT(testing_support::furthest(logits_of(moved), logits_of(saved)), 1e-4);
}

TEST_P(RecurrentLayers, AStateLiesInTheMemoryOfItsPlace) {
  if (!GetParam().on_device) return;
  const Session one = session();
  const ModelConfig& c = engine_->model().config;
  RecurrentState state(c.layer_state(), c.recurrent_layers(), 40, queue_);
  EXPECT_EQ(state.advance(0, 0, 1, false).after.place(), queue_.place());
  const size_t states = state.bytes();
  EXPECT_GE(one.forecast(100).kv, states);
  EXPECT_GE(one.report().kv_bytes, states);
}

TEST_P(RecurrentLayers, SeveralDevicesRefuseThemInOneLine) {
  const auto device = [](int16_t number) {
    auto made = std::make_shared<testing_support::FakeDevice>(number);
    made->any_thread = true;
    return made;
  };
  const std::vector<std::shared_ptr<DeviceQueue>> both = {device(0), device(1)};
  SessionOptions options = testing_support::exact_options();
  options.queue = Queue(std::make_shared<Communicator>(both), 0);
  try {
    Session refused(engine_, options);
    FAIL() << "not refused";
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()),
              engine_->model().config.architecture +
                  " models have recurrent layers: they run on one device, not on 2");
  }
}

std::vector<RecurrentCase> recurrent_cases() {
  std::vector<RecurrentCase> all;
  for (const char* model : {"qwen3_next", "qwen3_5", "gguf/qwen3_5_moe.gguf", "lfm2",
                            "granite_hybrid", "nemotron_h", "falcon_h1"}) {
    for (const bool on_device : {false, true}) all.push_back({model, on_device});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Tiny, RecurrentLayers, testing::ValuesIn(recurrent_cases()),
                         [](const auto& test) {
                           return fs::path(test.param.model).stem().string() +
                                  (test.param.on_device ? "_on_a_device" : "");
                         });

}  // namespace
}  // namespace longhaul
