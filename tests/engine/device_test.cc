// Every method on a device that has only memory and the model's products: what it does otherwise
// goes over the host. The fake device fails where the host reads its numbers unasked.

#include <gtest/gtest.h>

#include "attention/settings.h"
#include "attention/test_name.h"
#include "engine/two_places.h"
#include "ops/fake_device.h"

namespace longhaul {
namespace {

using testing_support::Small;

class OnADevice : public ::testing::TestWithParam<Small> {
 protected:
  static testing_support::TwoPlaces places() {
    static const auto engine = Engine::open(LONGHAUL_MODELS "/nano");
    return {engine, GetParam().spec, testing_support::fake_queue()};
  }
};

TEST_P(OnADevice, AnswersAsOnTheHost) { places().expect_same_answers(); }
TEST_P(OnADevice, SessionsMoveBetweenPlaces) { places().expect_that_sessions_move(); }

INSTANTIATE_TEST_SUITE_P(
    Registry, OnADevice,
    ::testing::ValuesIn(testing_support::first_of_each_kind(testing_support::small_settings())),
    [](const auto& test) { return testing_support::test_name(test.param.spec); });

}  // namespace
}  // namespace longhaul
