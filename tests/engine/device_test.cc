// Every method on a device with only memory and the model's products. All other operations fall
// back to the host. The fake device fails if the host reads device memory directly.

#include <gtest/gtest.h>

#include <algorithm>

#include "attention/method_device.h"
#include "attention/settings.h"
#include "attention/test_name.h"
#include "engine/short_nano.h"
#include "engine/two_places.h"

namespace longhaul {
namespace {

using testing_support::Small;

class OnADevice : public ::testing::TestWithParam<Small> {
 protected:
  static testing_support::TwoPlaces places() {
    return {testing_support::short_nano(), GetParam().spec, testing_support::fake_queue()};
  }
};

/// Like OnADevice, with a device that also chooses and keeps rows.
class OnAChoosingDevice : public ::testing::TestWithParam<Small> {
 protected:
  static testing_support::TwoPlaces places() {
    return {testing_support::short_nano(), GetParam().spec,
            Queue(std::make_shared<testing_support::MethodDevice>())};
  }
};

TEST_P(OnAChoosingDevice, AnswersAsOnTheHostAndSessionsMove) {
  places().expect_same_answers_and_sessions();
}

std::vector<Small> cutting_settings() {
  std::vector<Small> cutting;
  for (const Small& each : testing_support::small_settings()) {
    const std::string method = each.spec.substr(0, each.spec.find(':'));
    constexpr std::string_view kCutting[] = {"adakv", "citrus", "fastgen", "h2o",
                                             "roco",  "snapkv", "tova"};
    if (std::ranges::find(kCutting, method) != std::end(kCutting)) cutting.push_back(each);
  }
  return cutting;
}

INSTANTIATE_TEST_SUITE_P(Cutting, OnAChoosingDevice, ::testing::ValuesIn(cutting_settings()),
                         [](const auto& test) {
                           return testing_support::test_name(test.param.spec);
                         });

TEST_P(OnADevice, AnswersAsOnTheHostAndSessionsMove) {
  places().expect_same_answers_and_sessions();
}

INSTANTIATE_TEST_SUITE_P(
    Registry, OnADevice,
    ::testing::ValuesIn(testing_support::first_of_each_kind(testing_support::small_settings())),
    [](const auto& test) { return testing_support::test_name(test.param.spec); });

/// Rows of two types are appended, read and evicted through the host.
TEST(KvTypesOnADevice, AnswerAsOnTheHost) {
  const auto engine = testing_support::short_nano();
  SessionOptions here;
  here.compute = Compute::kF32;
  here.kv_type = {DType::Q8_0, DType::Q4_0};
  here.attention = MethodSpec::parse("snapkv:capacity=64");
  SessionOptions there = here;
  there.queue = testing_support::fake_queue();
  Session host(engine, here), device(engine, there);
  const std::vector<int32_t> prompt = testing_support::early_pass_key(*engine);
  host.prefill(prompt);
  device.prefill(prompt);
  EXPECT_EQ(host.report().live_rows, device.report().live_rows);
  EXPECT_EQ(testing_support::TwoPlaces::reply(host), testing_support::TwoPlaces::reply(device));
}

}  // namespace
}  // namespace longhaul
