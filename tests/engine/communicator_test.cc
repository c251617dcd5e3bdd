// A model whose heads are distributed over several devices gives the results of one device.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attention/settings.h"
#include "attention/test_name.h"
#include "engine/generate.h"
#include "engine/pass_key_prompt.h"
#include "engine/short_nano.h"
#include "engine/tiny_models.h"
#include "format/temp_folder.h"
#include "ops/fake_device.h"

namespace longhaul {
namespace {

using testing_support::exact_options;
using testing_support::FakeDevice;
using testing_support::short_nano;
using testing_support::TempFolder;
using testing_support::TinyModel;

struct FakeCommunicator {
  explicit FakeCommunicator(int ranks) {
    std::vector<std::shared_ptr<DeviceQueue>> queues;
    for (int rank = 0; rank < ranks; ++rank) {
      devices.push_back(std::make_shared<FakeDevice>(static_cast<int16_t>(rank)));
      devices.back()->any_thread = true;
      queues.push_back(devices.back());
    }
    leader = Queue(std::make_shared<Communicator>(std::move(queues)), 0);
  }
  std::vector<std::shared_ptr<FakeDevice>> devices;
  Queue leader;
};

SessionOptions on(const FakeCommunicator& communicator, SessionOptions options = exact_options()) {
  options.queue = communicator.leader;
  return options;
}

/// Least number of devices that can share the heads of every layer, or 1 if there is none.
int members_for(const Model& model) {
  for (int ranks = 2; ranks <= 8; ++ranks) {
    if (std::ranges::all_of(model.config.kv_heads, [&](int heads) { return heads % ranks == 0; }))
      return ranks;
  }
  return 1;
}

void expect_near(std::span<const float> got, std::span<const float> want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], tolerance * std::max(1.0f, std::abs(want[i]))) << "number " << i;
  }
}

class FamilyOnSeveralDevices : public testing::TestWithParam<TinyModel> {};

TEST_P(FamilyOnSeveralDevices, LogitsEqualTheHosts) {
  const auto engine = Engine::open(GetParam().model);
  const int ranks = members_for(engine->model());
  const ModelConfig& config = engine->model().config;
  // The first layers of a model with experts may be dense.
  const LayerWeights& layer = engine->model().layers.back();
  const TensorView& down = config.experts > 0 ? layer.experts.front().down : layer.down;
  const bool whole = config.qk_norm == QkNorm::kWhole || config.latent.used() ||
                     !config.head_dims.empty() || !config.recurrent.empty();
  if (ranks == 1 || whole || config.ffn / traits(down.type).block_size < ranks) {
    EXPECT_THROW(Session(engine, on(FakeCommunicator(std::max(2, ranks)))), UserError);
    return;
  }
  const FakeCommunicator communicator(ranks);
  const std::vector<int32_t> ids = GetParam().prompt();
  for (const int chunk : {1024, 7}) {
    const auto want = testing_support::all_logits(engine, exact_options(chunk), ids);
    const auto got =
        testing_support::all_logits(engine, on(communicator, exact_options(chunk)), ids);
    expect_near(got, want, 1e-4);
  }
  engine->leave_device();
}

INSTANTIATE_TEST_SUITE_P(All, FamilyOnSeveralDevices,
                         testing::ValuesIn(testing_support::tiny_models(LONGHAUL_TEST_DATA)),
                         [](const auto& test) { return test.param.name; });

/// The small settings of all methods, and more settings for options that name single heads.
std::vector<std::string> dealt_settings() {
  std::vector<std::string> specs;
  for (const auto& small : testing_support::first_of_each_kind(testing_support::small_settings())) {
    specs.push_back(small.spec);
  }
  const std::string ltri = "n_init=3,n_local=12,block=4,topk=2,cached=3,chunk=8,last=8";
  specs.push_back("ltri:heads=0.1/2.5:2/3.3,early=window," + ltri);
  specs.push_back("ltri:form=longhaul,heads=0.1/2.5:2/3.3,early=window," + ltri);
  // Look-ups by all heads: the best sum over the heads of all devices counts.
  specs.push_back("ltri:form=paper,heads=3.3,early=average," + ltri);
  specs.push_back("ltri:form=paper,queries=rows,query_rows=8,heads=3.3,early=average," + ltri);
  specs.push_back("ltri:form=longhaul,heads=3.3,early=average," + ltri);
  static const TempFolder folder;
  const auto gates =
      folder.write("duo_gates.tsv", "0.97\t0\t0\n0\t0\t0.6\n1\t0.9\t0.5\n0\t0.8\t0\n");
  specs.push_back("duo:gates=" + gates.string() + ",sparsity=0.5,sink=4,recent=60");
  return specs;
}

class MethodOnSeveralDevices : public testing::TestWithParam<std::string> {
 protected:
  static void read(Session& session, std::vector<int32_t> text) {
    PrefillHooks hooks;
    hooks.instruction = 16;
    ASSERT_TRUE(session.prefill(text, hooks));
  }
  /// Text without repetitions: blocks of repeated text have equal scores except for rounding.
  static std::vector<int32_t> text_of(int32_t seed, int32_t count) {
    return testing_support::scattered_tokens(count, seed, 2000, 3);
  }
  static std::vector<int32_t> reply(Session& session) {
    GenerateOptions few;
    few.max_tokens = 6;
    return generate(session, few).tokens;
  }
};

/// Three prompts and their replies. With the second, evictions act on lists that were reduced
/// before. With the third, a short one, few rows exceed the lists' capacity.
TEST_P(MethodOnSeveralDevices, AnswersAsOnOneDevice) {
  SessionOptions options = exact_options(64);
  options.attention = MethodSpec::parse(GetParam());
  const FakeCommunicator communicator(3);
  SessionOptions on_one = options;
  const auto one = std::make_shared<FakeDevice>();
  one->any_thread = true;
  on_one.queue = Queue(one);
  Session alone(short_nano(), on_one);
  Session together(short_nano(), on(communicator, options));
  int turn = 0;
  for (const int32_t count : {200, 200, 30}) {
    read(alone, text_of(turn, count));
    read(together, text_of(turn++, count));
    expect_near(together.logits(), alone.logits(), 2e-3);
    EXPECT_EQ(together.report().live_rows, alone.report().live_rows);
    const auto bytes = [](const Session& session) {
      return static_cast<double>(session.report().kv_bytes);
    };
    EXPECT_NEAR(bytes(together), bytes(alone), 0.06 * bytes(alone));  // tables grow in steps
    EXPECT_NEAR(together.report().pairs_share, alone.report().pairs_share, 1e-3);
    EXPECT_EQ(reply(together), reply(alone));
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, MethodOnSeveralDevices, testing::ValuesIn(dealt_settings()),
                         [](const auto& test) {
                           const size_t file = test.param.find("=/");
                           return testing_support::test_name(
                               file == std::string::npos ? test.param : "duo_gates");
                         });

TEST(Communicator, WhatNeedsTheHeadsOfOthersIsRefused) {
  const FakeCommunicator communicator(3);
  const auto refusal = [&](const std::string& spec) -> std::string {
    SessionOptions options = on(communicator);
    options.attention = MethodSpec::parse(spec);
    try {
      Session(short_nano(), options);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refusal("reattention:bug_compat=true,global=8,local=256,chunk=100").find("bug_compat"),
            std::string::npos);
  EXPECT_NE(refusal("minference:patterns=search,save=/tmp/none.json").find("save="),
            std::string::npos);
}

TEST(Communicator, ASessionFileServesAsManyDevices) {
  const TempFolder folder;
  const std::filesystem::path file = folder.path() / "dealt.session";
  const FakeCommunicator communicator(3);
  const std::vector<int32_t> text = testing_support::early_pass_key(*short_nano());
  for (const char* method : {"dense", "infllm:n_init=8,n_local=64,block=16,topk=2,chunk=32"}) {
    SessionOptions options = on(communicator, exact_options(64));
    options.attention = MethodSpec::parse(method);
    Session session(short_nano(), options), again(short_nano(), options);
    ASSERT_TRUE(session.prefill(text));
    session.save(file);
    again.load(file);
    expect_near(again.logits(), session.logits(), 0);
    EXPECT_EQ(again.report().live_rows, session.report().live_rows);
    session.decode(17);
    again.decode(17);
    expect_near(again.logits(), session.logits(), 1e-5);
    SessionOptions alone = options;
    alone.queue = {};
    EXPECT_THROW(Session(short_nano(), alone).load(file), UserError);
    EXPECT_EQ(again.reuse_prefix(text), method == std::string("dense") ? std::ssize(text) - 1 : 0);
  }
  Session host(short_nano(), exact_options());
  host.prefill(text);
  host.save(file);
  EXPECT_THROW(Session(short_nano(), on(communicator)).load(file), UserError);
}

TEST(Communicator, EachDeviceHasItsPartOfWeightsAndKeys) {
  const FakeCommunicator communicator(3);
  Session session(short_nano(), on(communicator));
  session.prefill(testing_support::early_pass_key(*short_nano()));
  const size_t whole = short_nano()->on_device(testing_support::fake_queue())->bytes();
  Session again(short_nano(), on(communicator));
  const size_t part = short_nano()->on_device(communicator.leader)->bytes();
  const size_t shared = short_nano()->model().embedding.bytes();  // every device has a copy
  EXPECT_NEAR(static_cast<double>(part - shared), static_cast<double>(whole - shared) / 3,
              0.05 * static_cast<double>(whole));
  EXPECT_EQ(session.store().lists(0), 1);
  EXPECT_EQ(session.report().forecast.weights, part);
}

TEST(Communicator, ADeviceWithoutRoomEndsThePromptForAllAndTheyGoOn) {
  FakeCommunicator communicator(3);
  const std::vector<int32_t> text = testing_support::early_pass_key(*short_nano());
  Session session(short_nano(), on(communicator, exact_options(1024)));
  ASSERT_TRUE(session.prefill(std::span(text).first(100)));
  const std::vector<float> want(session.logits().begin(), session.logits().end());

  // The error is found before anything is read, so nothing changes.
  communicator.devices[1]->free = 1;
  EXPECT_THROW(session.prefill(std::span(text).subspan(100)), UserError);
  EXPECT_EQ(session.tokens().size(), 100u);
  communicator.devices[1]->free = communicator.devices[0]->free;

  // An error while reading: all ranks drop their state and begin anew.
  communicator.devices[2]->most_at_once = 1000;
  EXPECT_THROW(session.prefill(std::span(text).subspan(100)), UserError);
  EXPECT_TRUE(session.tokens().empty());
  communicator.devices[2]->most_at_once = SIZE_MAX;
  ASSERT_TRUE(session.prefill(std::span(text).first(100)));
  expect_near(session.logits(), want, 0);
}

TEST(Communicator, APromptIsCancelledOnAllDevicesAlike) {
  const FakeCommunicator communicator(3);
  const std::vector<int32_t> text = testing_support::early_pass_key(*short_nano());
  Session session(short_nano(), on(communicator, exact_options(64))),
      other(short_nano(), on(communicator, exact_options(64)));
  CancelFlag cancel;
  PrefillHooks hooks;
  hooks.cancel = &cancel;
  int64_t reached = 0;
  hooks.pass_progress = [&](int64_t begin, int64_t, double share) {
    reached = begin;
    if (begin > 100 && share > 0.5) cancel.request();
  };
  EXPECT_FALSE(session.prefill(text, hooks));
  EXPECT_EQ(std::ssize(session.tokens()), reached);
  ASSERT_TRUE(session.prefill(std::span(text).subspan(session.tokens().size())));
  ASSERT_TRUE(other.prefill(text));
  expect_near(session.logits(), other.logits(), 1e-4);
}

TEST(Communicator, ACopyOfAContextAndAPrefixServeAllDevices) {
  const FakeCommunicator communicator(3);
  const std::vector<int32_t> text = testing_support::early_pass_key(*short_nano());
  Session dense(short_nano(), on(communicator, exact_options(64)));
  ASSERT_TRUE(dense.prefill(text));
  SessionOptions options = on(communicator, exact_options(64));
  options.attention = MethodSpec::parse("snapkv:capacity=64");
  Session apart(short_nano(), options), taking(short_nano(), options);
  ASSERT_TRUE(apart.prefill(text));
  const int64_t taken = taking.begin_with(dense.copy_context(), text);
  EXPECT_GT(taken, 100);
  ASSERT_TRUE(taking.prefill(std::span(text).subspan(static_cast<size_t>(taken))));
  expect_near(taking.logits(), apart.logits(), 1e-5);

  std::vector<int32_t> other = text;
  other.back() = 5;
  EXPECT_EQ(dense.reuse_prefix(other), std::ssize(text) - 1);
  ASSERT_TRUE(dense.prefill(std::span(other).last(1)));
  Session fresh(short_nano(), on(communicator, exact_options(64)));
  ASSERT_TRUE(fresh.prefill(other));
  expect_near(dense.logits(), fresh.logits(), 1e-4);
}

}  // namespace
}  // namespace longhaul
