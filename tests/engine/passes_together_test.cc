// Passes of which each layer is computed for the rows of all: what each leaves is what it leaves
// alone.

#include <gtest/gtest.h>

#include "attention/parts/passes.h"
#include "engine/tiny_models.h"

namespace longhaul {
namespace {

using testing_support::furthest;
using testing_support::TinyModel;

class PassesTogether : public testing::TestWithParam<TinyModel> {
 protected:
  void SetUp() override {
    engine_ = Engine::open(GetParam().model);
    ids_ = GetParam().prompt();
    half_ = std::ssize(ids_) / 2;
  }

  /// The prompt's second half, which is discarded, then its halves, each by itself or all at once;
  /// leaves their keys and values in `store`. Returns the states of all rows.
  std::vector<float> read(bool at_once, KvStore& store) const {
    const auto count = std::ssize(ids_);
    const std::span<const int32_t> ids(ids_);
    Decoder decoder(engine_->model(), Compute::kF32);
    decoder.set_context_length(count);
    AttentionDriver driver(MethodSpec::parse("dense").make_method(engine_->model().shape),
                           engine_->model().shape);
    driver.prepare({0, count, 0, static_cast<int>(count)});
    std::vector<Pass> order{{.begin = half_, .count = count - half_, .discard = true},
                              {.count = half_},
                              {.begin = half_, .count = count - half_}};
    mark_taken_back(order);
    std::vector<ForwardPass> passes;
    for (const Pass& pass : order) {
      passes.push_back({ids.subspan(static_cast<size_t>(pass.begin), static_cast<size_t>(pass.count)),
                        pass.begin, pass});
    }
    std::vector<float> states;
    const size_t each = at_once ? passes.size() : 1;
    for (size_t i = 0; i < passes.size(); i += each) {
      const ForwardPasses all{.passes = std::span(passes).subspan(i, each),
                              .streams = {&store, 1}};
      const float* const hidden = decoder.forward(all, driver);
      states.insert(states.end(), hidden, hidden + all.rows() * engine_->model().config.hidden);
    }
    return states;
  }

  KvStore empty_store() const {
    const ModelShape& shape = engine_->model().shape;
    const AttentionDriver driver(MethodSpec::parse("dense").make_method(shape), shape);
    return KvStore(driver.layout(shape, DType::F32));
  }

  /// Keys and values of the last layer, which all layers before it have a part in.
  std::vector<float> last_rows(const KvStore& store) const {
    const ModelShape& shape = engine_->model().shape;
    const int layer = shape.layers - 1;
    const size_t width = static_cast<size_t>(shape.head_dim);
    std::vector<float> all, k(width), v(width);
    for (int head = 0; head < store.lists(layer); ++head) {
      for (int64_t row = 0; row < store.length(layer, head); ++row) {
        store.read(layer, head, row, k.data(), v.data());
        all.insert(all.end(), k.begin(), k.end());
        all.insert(all.end(), v.begin(), v.end());
      }
    }
    return all;
  }

  std::shared_ptr<const Engine> engine_;
  std::vector<int32_t> ids_;
  int64_t half_ = 0;
};

TEST_P(PassesTogether, LeaveWhatEachLeavesAlone) {
  KvStore one = empty_store(), all = empty_store();
  const std::vector<float> alone = read(false, one), at_once = read(true, all);
  EXPECT_LT(furthest(alone, at_once), 1e-3);
  EXPECT_EQ(all.longest(), std::ssize(ids_));
  const std::vector<float> want = last_rows(one);
  ASSERT_FALSE(want.empty());
  EXPECT_LT(furthest(want, last_rows(all)), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(All, PassesTogether,
                         testing::ValuesIn(testing_support::tiny_models(LONGHAUL_TEST_DATA)),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace longhaul
