// Every method on a GPU against the host, on nano. LONGHAUL_MODELS in the environment says where
// the models are on a machine that did not build this.

#include <gtest/gtest.h>

#include <cstdlib>

#include "attention/settings.h"
#include "attention/test_name.h"
#include "engine/two_places.h"
#include "ops/devices.h"

namespace longhaul {
namespace {

using testing_support::Small;

class OnTheGpu : public ::testing::TestWithParam<Small> {
 protected:
  static testing_support::TwoPlaces places() {
    const char* const models = std::getenv("LONGHAUL_MODELS");
    static const auto engine =
        Engine::open(std::string(models == nullptr ? LONGHAUL_MODELS : models) + "/nano");
    static const Queue queue = open_device("cuda");
    return {engine, GetParam().spec, queue};
  }
};

TEST_P(OnTheGpu, AnswersAsOnTheHost) { places().expect_same_answers(); }
TEST_P(OnTheGpu, SessionsMoveBetweenPlaces) { places().expect_that_sessions_move(); }

INSTANTIATE_TEST_SUITE_P(
    Registry, OnTheGpu,
    ::testing::ValuesIn(testing_support::first_of_each_kind(testing_support::small_settings())),
    [](const auto& test) { return testing_support::test_name(test.param.spec); });

}  // namespace
}  // namespace longhaul
