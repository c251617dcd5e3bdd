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

/// A server reads the size of every sequence in each step, and copies sequences between steps.
TEST(SequencesOnADevice, AreMeasuredAndCopiedWithoutAWait) {
  const auto engine = testing_support::short_nano();
  SessionOptions options;
  options.queue = testing_support::fake_queue();
  Session session(engine, options);
  session.prefill(testing_support::early_pass_key(*engine));
  const Sequence& sequence = session.sequence();
  const int64_t waits = options.queue.device().waits();
  const Sequence copy = sequence.clone();
  EXPECT_EQ(copy.kv_bytes(), sequence.kv_bytes());
  EXPECT_EQ(copy.attention_seconds(), sequence.attention_seconds());
  EXPECT_EQ(copy.pairs_share(), 1);
  EXPECT_EQ(options.queue.device().waits(), waits);
}

/// The pairs of segments whose length only the device has are counted there.
TEST(AttentionRecords, TakeCountsOfTheDeviceWithoutAWait) {
  Queue queue = testing_support::fake_queue();
  AttentionRecord from, to;
  KeySegment keys;
  AttendTask task;
  task.segments = {&keys, 1};
  EXPECT_TRUE(from.counted_pairs(queue, {&task, 1}).empty());
  const int32_t length = 3;
  keys.device_count = {&length, 1, queue.place()};
  const View<int64_t> counted = from.counted_pairs(queue, {&task, 1});
  ASSERT_EQ(counted.size(), 1);
  const int64_t five = 5;
  queue.device().upload(&five, counted.address(), sizeof five);
  from.pairs = 7;
  const int64_t waits = queue.device().waits();
  to.take_counts(queue, from);
  EXPECT_EQ(queue.device().waits(), waits);
  EXPECT_EQ(to.all_pairs(queue), 12);
  EXPECT_EQ(from.all_pairs(queue), 12);
}

}  // namespace
}  // namespace longhaul
