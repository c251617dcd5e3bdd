// Defaults of a plan that sets nothing (passes, layout), and the two forms of LayerStep::attend.

#include "attention/method.h"

#include <gtest/gtest.h>

#include "attention/method_run.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::has;
using testing_support::MethodRun;
using testing_support::small_shape;

/// A method that sets nothing about passes, layout or eviction.
std::unique_ptr<AttentionDriver> plain_driver(const ModelShape& shape = small_shape(1, 1, 1, 64)) {
  return MethodSpec::parse("dense").make(shape);
}

TEST(Passes, CoverThePromptInEqualPartsWithinTheCap) {
  const auto driver = plain_driver();
  for (const int chunk : {1, 5, 100, 127, 128, 130, 512, 1000, 2048}) {
    for (const int64_t tokens : {1, 2, 31, 127, 128, 129, 500, 513, 1025, 2049, 4100, 9999}) {
      int64_t done = 0, least = tokens, most = 0;
      for (const Pass& pass : driver->prepare({700, tokens, 0, chunk})) {
        ASSERT_EQ(pass.begin, done);
        done += pass.count;
        least = std::min(least, pass.count);
        most = std::max(most, pass.count);
        if (chunk >= 128 && done < tokens) {
          EXPECT_EQ(pass.count % 32, 0);
        }
      }
      EXPECT_EQ(done, tokens) << "chunk " << chunk;
      EXPECT_LE(most, chunk);
      EXPECT_GT(least, 0);
      EXPECT_LE(most - least, chunk >= 128 ? 63 : 1) << "chunk " << chunk << " tokens " << tokens;
    }
  }
  EXPECT_TRUE(driver->prepare({0, 0, 0, 512}).empty());
  EXPECT_EQ(driver->prepare({0, 2049, 0, 2048}).size(), 2u);
}

TEST(Layout, IsOneListPerKvHead) {
  ModelShape shape = small_shape(3, 2, 4, 64);
  shape.kv_heads = {2, 4, 8};
  const KvLayout layout = plain_driver(shape)->layout(shape, DType::Q8_0);
  EXPECT_EQ(layout.heads, shape.kv_heads);
  EXPECT_EQ(layout.head_dim, 64);
  EXPECT_EQ(layout.type, DType::Q8_0);
}

TEST(Layout, RefusesTypesThatCannotHoldTheRows) {
  const auto driver = plain_driver();
  EXPECT_TRUE(has(error_of([&] { driver->layout(small_shape(1, 1, 1, 80), DType::Q8_0); }),
                  {"--kv-type q8_0", "80", "32"}));
  EXPECT_TRUE(has(error_of([&] { driver->layout(small_shape(1, 1, 1, 64), DType::Q4_K); }),
                  {"--kv-type q4_k", "f32, f16, bf16, q8_0 or q4_0"}));
}

/// Dense attention in two forms: one list per query head (each with a copy of its KV head), or
/// tasks that split the rows in two.
class DenseOtherwise final : public Method {
 public:
  explicit DenseOtherwise(bool by_tasks) : by_tasks_(by_tasks) {
    if (!by_tasks_) whole = {.when = When::kOwn, .chooser = Chooser::kQueryHead};
  }

  ListPlan plan(int, int, int64_t) const override { return {}; }

  void attend(LayerStep& step) override {
    const View<const float> queries[] = {step.rotated_q()};
    const int lists = by_tasks_ ? step.kv_heads : step.shape->heads;
    std::vector<KeySegment> segments;
    for (int i = 0; i < lists; ++i) {
      KeySegment keys;
      keys.rows = step.store->rows(step.layer, i);
      keys.count = step.begin + 1;  // two segments of one list
      segments.push_back(keys);
      keys.begin = keys.position = keys.count;
      keys.count = step.rows - 1;
      segments.push_back(keys);
    }
    if (!by_tasks_) return step.attend(queries, segments, 2);
    std::vector<AttendTask> tasks;
    const std::span<const KeySegment> all(segments);
    const int cut = step.rows / 2;
    for (int h = 0; h < step.kv_heads; ++h) {
      const auto own = all.subspan(static_cast<size_t>(2 * h), 2);
      tasks.push_back({h * step.group(), step.group(), 0, cut, step.begin, own});
      tasks.push_back(
          {h * step.group(), step.group(), cut, step.rows - cut, step.begin + cut, own});
    }
    step.attend(queries, tasks);
  }

 private:
  bool by_tasks_;
};

TEST(LayerStep, BothFormsOfAttendEqualTheDefinition) {
  const ModelShape shape = small_shape(2, 2, 3, 32);
  for (const bool by_tasks : {false, true}) {
    AttentionDriver method(std::make_unique<DenseOtherwise>(by_tasks), shape);
    MethodRun run(shape, method, DType::F32, 60);
    run.prompt(57, 25);
    run.decode(3);
    for (int layer = 0; layer < 2; ++layer) {
      const size_t l = static_cast<size_t>(layer);
      const auto want = testing_support::attention_by_definition(
          shape, layer, run.inputs[l], 60, [](int64_t, int64_t) { return true; });
      EXPECT_LT(testing_support::largest_difference(run.out[l], want), 2e-5) << by_tasks;
    }
    EXPECT_EQ(run.record.dense_pairs, 2 * 6 * (60 * 61 / 2));
    EXPECT_EQ(run.record.pairs, run.record.dense_pairs);
  }
}

}  // namespace
}  // namespace longhaul
