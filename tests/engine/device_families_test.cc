// Every family's arithmetic on a device that multiplies in f32, as the host can: the steps that it
// is asked for, and their order, must give the host's logits.

#include <gtest/gtest.h>

#include <cmath>

#include "engine/tiny_models.h"
#include "ops/fake_device.h"

namespace longhaul {
namespace {

using testing_support::all_logits;
using testing_support::exact_options;
using testing_support::TinyModel;

class FamilyOnADevice : public testing::TestWithParam<TinyModel> {};

TEST_P(FamilyOnADevice, LogitsEqualTheHosts) {
  const auto engine = Engine::open(GetParam().model);
  const std::vector<int32_t> ids = GetParam().prompt();
  for (const int chunk : {1024, 7}) {
    SessionOptions there = exact_options(chunk);
    there.queue = testing_support::fake_queue();
    const std::vector<float> want = all_logits(engine, exact_options(chunk), ids);
    const std::vector<float> got = all_logits(engine, there, ids);
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_NEAR(got[i], want[i], 1e-4 * std::max(1.0f, std::abs(want[i])))
          << "logit " << i << " chunk " << chunk;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, FamilyOnADevice,
                         testing::ValuesIn(testing_support::tiny_models(LONGHAUL_TEST_DATA)),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace longhaul
