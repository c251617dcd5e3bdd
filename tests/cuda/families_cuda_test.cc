// The forward pass of the tiny model of every family on a GPU against the host's logits.
// LONGHAUL_TEST_DATA in the environment says where tests/data is on a machine that did not build
// this.

#include <cmath>
#include <cstdlib>

#include "../engine/tiny_models.h"
#include "ops/devices.h"

namespace longhaul {
namespace {

using testing_support::all_logits;
using testing_support::exact_options;
using testing_support::TinyModel;

std::filesystem::path test_data() {
  const char* const elsewhere = std::getenv("LONGHAUL_TEST_DATA");
  return elsewhere == nullptr ? LONGHAUL_TEST_DATA : elsewhere;
}

/// Without them there is one test, which says so and fails.
std::vector<TinyModel> models() {
  if (!std::filesystem::exists(test_data() / "tiny_models")) return {};
  return testing_support::tiny_models(test_data());
}

class FamilyOnTheGpu : public testing::TestWithParam<TinyModel> {
 protected:
  static Queue& gpu() {
    static Queue queue = open_device("cuda");
    return queue;
  }
};

/// What is multiplied is rounded to bf16, and to int8 where few rows meet block types.
TEST_P(FamilyOnTheGpu, LogitsAreNearTheHosts) {
  const auto engine = Engine::open(GetParam().model);
  const std::vector<int32_t> ids = GetParam().prompt();
  const std::vector<float> want = all_logits(engine, exact_options(1024), ids);
  for (const int chunk : {1024, 7}) {
    SessionOptions there = exact_options(chunk);
    there.queue = gpu();
    const std::vector<float> got = all_logits(engine, there, ids);
    double apart = 0, size = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      apart += std::pow(double{got[i]} - want[i], 2);
      size += std::pow(double{want[i]}, 2);
    }
    const double share = std::sqrt(apart / size);
    RecordProperty("chunk_" + std::to_string(chunk), std::to_string(share));
    EXPECT_LT(share, 0.03) << "chunk " << chunk;
  }
}

INSTANTIATE_TEST_SUITE_P(All, FamilyOnTheGpu, testing::ValuesIn(models()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace longhaul
