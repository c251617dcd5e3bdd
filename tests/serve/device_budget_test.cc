// Admission of requests by the memory of a device.

#include <gtest/gtest.h>

#include "ops/fake_device.h"
#include "scheduler_fixture.h"
#include "serve/scheduler/sequence_engine.h"

namespace longhaul::serve {
namespace {

using longhaul::testing_support::FakeDevice;
using testing_support::LastReport;

class DeviceBudget : public ::testing::Test {
 protected:
  DeviceBudget() {
    options_.queue = Queue(device_);
    options_.chunk = 64;
  }

  std::shared_ptr<LastReport> send(Scheduler& scheduler, int prompt, unsigned seed) {
    const auto job = std::make_shared<Job>();
    const auto sink = std::make_shared<LastReport>();
    std::mt19937 random(seed);
    for (int i = 0; i < prompt; ++i) job->prompt.push_back(static_cast<int32_t>(random() % 250));
    job->reply.max_tokens = 2;
    job->sink = sink;
    EXPECT_FALSE(scheduler.submit(job));
    return sink;
  }

  std::shared_ptr<FakeDevice> device_ = std::make_shared<FakeDevice>();
  std::shared_ptr<const Engine> engine_ =
      Engine::open(std::string(LONGHAUL_TEST_DATA) + "/tiny_models/llama_linear");
  SessionOptions options_;
  Metrics metrics_;
};

/// The host's memory does not count.
TEST_F(DeviceBudget, TheUsualLimitIsTheDevicesFreeMemory) {
  device_->free = size_t{100} << 20;
  const size_t weights = engine_->on_device(options_.queue)->bytes();
  EXPECT_GT(weights, 0U);
  EXPECT_EQ(usual_device_limit(*engine_, options_.queue), weights + (size_t{100} << 20) / 10 * 9);
}

TEST_F(DeviceBudget, RequestsWaitForTheDevicesMemoryOrAreRefused) {
  SequenceEngine port(engine_, options_);
  const MethodSpec dense = MethodSpec::parse("dense");
  const size_t one = port.most_bytes(dense, 400, 2);
  SchedulerOptions options;
  options.memory_limit = port.fixed_bytes() + one + one / 2;
  Scheduler scheduler(port, engine_->tokenizer(), options, metrics_);
  std::vector<std::shared_ptr<LastReport>> all;
  for (unsigned i = 0; i < 3; ++i) all.push_back(send(scheduler, 400, i));
  const auto too_large = send(scheduler, 40'000, 9);
  int most = 0;
  while (!scheduler.idle()) {
    scheduler.turn();
    most = std::max(most, scheduler.running());
    ASSERT_LE(port.fixed_bytes() + port.kv_bytes_in_use(), options.memory_limit);
  }
  EXPECT_EQ(most, 1) << "there is room for one at a time";
  for (const auto& sink : all) {
    EXPECT_EQ(sink->error.status, 0) << sink->error.message;
    EXPECT_EQ(sink->report.reply_tokens, 2);
  }
  EXPECT_EQ(too_large->error.code, "insufficient_memory");
  EXPECT_EQ(too_large->error.limit, options.memory_limit);
}

}  // namespace
}  // namespace longhaul::serve
