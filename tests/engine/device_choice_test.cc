#include "engine/device_choice.h"

#include <gtest/gtest.h>

#include "base/error_of.h"
#include "engine/generate.h"
#include "ops/fake_device.h"

namespace longhaul {
namespace {

using testing_support::FakeDevice;

class DeviceChoice : public ::testing::Test {
 protected:
  SessionOptions on_device(const char* method = "dense") const {
    SessionOptions options;
    options.attention = MethodSpec::parse(method);
    options.queue = Queue(device_);
    return options;
  }
  /// Whether all sessions stay on the device.
  bool stays(std::vector<SessionOptions> options, int64_t tokens) const {
    settle_device(engine_, options, tokens, 16);
    const bool first = options.front().queue.on_host();
    for (const SessionOptions& each : options) EXPECT_EQ(each.queue.on_host(), first);
    return !first;
  }

  std::shared_ptr<FakeDevice> device_ = std::make_shared<FakeDevice>();
  std::shared_ptr<const Engine> engine_ = Engine::open(LONGHAUL_MODELS "/nano");
};

TEST_F(DeviceChoice, TakesADeviceThatHasRoom) {
  EXPECT_TRUE(stays({on_device()}, 1000));
  SessionOptions here;
  EXPECT_FALSE(stays({here}, 1000));
}

TEST_F(DeviceChoice, TheHostTakesWhatTheDeviceHasNoRoomFor) {
  device_->free = size_t{2} << 30;
  EXPECT_TRUE(stays({on_device()}, 1000));
  EXPECT_FALSE(stays({on_device()}, 1 << 20));  // 9 GiB of keys and values
  EXPECT_TRUE(stays({on_device("streamingllm")}, 1 << 20));
  EXPECT_FALSE(stays({on_device("streamingllm"), on_device()}, 1 << 20));
}

TEST_F(DeviceChoice, WeightsThatDoNotFitAreNotSent) {
  device_->free = size_t{1} << 20;
  EXPECT_FALSE(stays({on_device()}, 1));
  const std::string error = testing_support::error_of([&] { Session(engine_, on_device()); });
  EXPECT_NE(error.find("of weights do not fit into the GPU's memory"), std::string::npos) << error;
}

/// The device has no memory, so sending any data would be refused, too.
TEST_F(DeviceChoice, ProductsThatAreNotThereAreRefusedBeforeWeightsAreSent) {
  SessionOptions options = on_device();
  options.compute = Compute::kFp8;
  device_->most_at_once = 0;
  const std::string error = testing_support::error_of([&] { Session(engine_, options); });
  EXPECT_NE(error.find("no products of 8-bit floats"), std::string::npos) << error;
  options.queue = {};
  const std::string here = testing_support::error_of([&] { Session(engine_, options); });
  EXPECT_NE(here.find("--compute fp8: only GPUs"), std::string::npos) << here;
}

TEST_F(DeviceChoice, GivesTheWeightsBackWhereItTakesTheHost) {
  device_->free = size_t{2} << 30;
  EXPECT_FALSE(stays({on_device()}, 1 << 20));
  EXPECT_EQ(device_.use_count(), 1);
}

}  // namespace
}  // namespace longhaul
