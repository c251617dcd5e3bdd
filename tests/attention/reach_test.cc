// Compares the reach that a method declares (how far back rows see) with the positions that it
// passes to the model. The registry has the expected value (SmallSetting::reach).

#include <gtest/gtest.h>

#include <set>

#include "attention/method_run.h"
#include "attention/test_name.h"
#include "attention/tested_methods.h"

namespace longhaul {
namespace {

using testing_support::MethodRun;
using testing_support::Small;
using testing_support::small_shape;

constexpr int64_t kTokens = 700;
constexpr int64_t kAll = int64_t{1} << 40;

/// Distance from the task's last row to the segment's first visible key, including both.
int64_t span_of(const AttendTask& task, const KeySegment& keys) {
  const int64_t first = keys.position + (keys.indexed_positions ? host(keys.index)[0] : 0);
  const int64_t span = task.row_position + task.row_count - first;
  return keys.visible == Visibility::kWindow ? std::min(span, keys.window) : span;
}

class Reach : public ::testing::TestWithParam<Small> {};

TEST_P(Reach, IsTheFarthestPositionThatRowsOfAPromptAreShown) {
  const ModelShape shape = small_shape(2, 2, 3, 32);  // trained for 4,096
  const auto method = testing_support::make_tested(GetParam().spec, shape);
  EXPECT_EQ(method->reach(kAll, 64),
            GetParam().setting.reach == kNoBound ? kAll : GetParam().setting.reach);
  EXPECT_EQ(method->reach(50, 64), std::min<int64_t>(50, method->reach(kAll, 64)));

  MethodRun run(shape, *method, DType::F32, kTokens);
  int64_t farthest = 0;
  run.record.observer = [&](const LayerStep&, std::span<const AttendTask> tasks) {
    for (const AttendTask& task : tasks) {
      for (const KeySegment& keys : task.segments) {
        // Other keys were rotated at their positions in the text, or have one fixed distance.
        const bool moved = keys.rotate && keys.query == 0 && keys.count > 0;
        if (moved) farthest = std::max(farthest, span_of(task, keys));
      }
    }
  };
  run.prompt(kTokens, 64);
  EXPECT_LE(farthest, method->reach(kTokens, 64));
  if (farthest > 0 && !GetParam().setting.loose_bounds) {
    EXPECT_GE(2 * farthest, method->reach(kTokens, 64)) << "a bound that says something";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Registry, Reach,
    ::testing::ValuesIn(testing_support::small_settings(testing_support::tested_methods())),
    [](const auto& tested) { return testing_support::test_name(tested.param.spec); });

TEST(Reach, OfKeysAtOneDistanceIsThatDistance) {
  const ModelShape shape = small_shape(1, 1, 2, 32);
  const auto reach = [&](const char* spec) {
    return MethodSpec::parse(spec).make(shape)->reach(20000, 1024);
  };
  EXPECT_EQ(reach("lminfinite"), 4096) << "as published, for models of 4,096 tokens";
  EXPECT_EQ(reach("lminfinite:local=100,limit=9000"), 9000);
  EXPECT_EQ(reach("infllm"), 1024) << "the least, for a trained length of 4,096";
  EXPECT_EQ(reach("infllm:fidelity=paper,n_local=2048"), 2048);
  EXPECT_EQ(reach("ltri:n_local=9000"), 9000);
}

TEST(Reach, OfTheDefaultsIsWithin4096TokensWhereTheMethodMovesKeys) {
  const ModelShape shape = small_shape(2, 2, 2, 64);
  std::set<std::string_view> within;
  for (const MethodInfo& info : attention_methods()) {
    if (!info.describe().list.needed().empty()) continue;
    const auto method = MethodSpec::parse(info.name).make(shape);
    if (method->reach(20000, 1024) <= shape.trained_context) within.insert(info.name);
  }
  const std::set<std::string_view> want = {"streamingllm", "lminfinite", "ntk",
                                           "citrus",       "infllm",     "ltri"};
  EXPECT_EQ(within, want);
}

}  // namespace
}  // namespace longhaul
