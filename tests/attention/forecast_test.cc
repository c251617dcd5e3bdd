// Memory forecast of a method compared with its actual memory, over several turns and with every
// kind of eviction (MethodInfo::small).

#include <gtest/gtest.h>

#include "attention/method_run.h"
#include "attention/test_name.h"
#include "attention/tested_methods.h"

namespace longhaul {
namespace {

using testing_support::MethodRun;
using testing_support::Small;
using testing_support::small_shape;

TEST(Forecast, EveryMethodOfTheRegistryHasSmallSettings) {
  for (const MethodInfo& info : attention_methods()) EXPECT_FALSE(info.small.empty()) << info.name;
}

class Forecast : public ::testing::TestWithParam<Small> {};

TEST_P(Forecast, IsNeverLessThanWhatIsHeld) {
  for (const KvType& type : {KvType(DType::F32), KvType(DType::Q8_0, DType::Q4_0)}) {
    const ModelShape shape = small_shape(2, 2, 3, 32);
    const auto method = testing_support::make_tested(GetParam().spec, shape);
    MethodRun run(shape, *method, type, 800);
    for (const int64_t tokens : {431, 1, 70, 130}) {
      run.prompt(tokens, 64);
      run.decode(17);
    }
    EXPECT_LE(run.most_bytes, method->most_kv_bytes(run.store.layout(), run.done, 64));
  }
}

TEST_P(Forecast, CountsALongReply) {
  const ModelShape shape = small_shape(2, 2, 3, 32);
  const auto method = testing_support::make_tested(GetParam().spec, shape);
  MethodRun run(shape, *method, DType::F32, 520);
  run.prompt(310, 64);
  run.decode(200);
  const KvLayout& layout = run.store.layout();
  EXPECT_LE(run.most_bytes, method->keeps_replies()
                                ? method->most_kv_bytes(layout, 310, 64) + layout.bytes_for(200)
                                : method->most_kv_bytes(layout, 510, 64));
}

TEST_P(Forecast, OfAPromptIsNotThriceWhatTheStoreHolds) {
  const ModelShape shape = small_shape(2, 2, 3, 64);
  const auto method = testing_support::make_tested(GetParam().spec, shape);
  MethodRun run(shape, *method, DType::F32, 700);
  run.prompt(700, 64);
  if (GetParam().setting.loose_bounds) return;
  EXPECT_GE(3 * run.most_bytes, method->most_kv_bytes(run.store.layout(), 700, 64));
}

INSTANTIATE_TEST_SUITE_P(
    Registry, Forecast,
    ::testing::ValuesIn(testing_support::small_settings(testing_support::tested_methods())),
    [](const auto& tested) { return testing_support::test_name(tested.param.spec); });

}  // namespace
}  // namespace longhaul
