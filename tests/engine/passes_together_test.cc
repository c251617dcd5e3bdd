// Two passes of which each layer is computed for the rows of both: what each leaves is what it
// leaves alone.

#include <gtest/gtest.h>

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

  /// The prompt's second half, which is discarded, and its first half, each by itself or both at
  /// once; leaves their keys and values in `stores`. Returns the states of the rows of the first.
  std::vector<float> read(bool together, std::span<KvStore> stores) const {
    const auto count = std::ssize(ids_);
    const std::span<const int32_t> ids(ids_);
    Decoder decoder(engine_->model(), Compute::kF32);
    decoder.set_context_length(count);
    AttentionDriver driver(MethodSpec::parse("dense").make_method(engine_->model().shape),
                           engine_->model().shape);
    driver.prepare({0, count, 0, static_cast<int>(count)});
    const ForwardPass ahead{
        .tokens = ids.subspan(static_cast<size_t>(half_)),
        .position = half_,
        .pass = {.begin = half_, .count = count - half_, .discard = true, .with_next = true},
        .store = &stores[1],
        .streams = stores.first(1)};
    const ForwardPass pass{.tokens = ids.first(static_cast<size_t>(half_)),
                           .pass = {.count = half_},
                           .store = &stores[0],
                           .streams = stores.first(1),
                           .ahead = together ? &ahead : nullptr};
    if (!together) decoder.forward(ahead, driver);
    const float* const hidden = decoder.forward(pass, driver);
    return {hidden, hidden + half_ * engine_->model().config.hidden};
  }

  std::vector<KvStore> empty_stores() const {
    const ModelShape& shape = engine_->model().shape;
    const AttentionDriver driver(MethodSpec::parse("dense").make_method(shape), shape);
    std::vector<KvStore> stores;
    for (int i = 0; i < 2; ++i) stores.emplace_back(driver.layout(shape, DType::F32));
    return stores;
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
  std::vector<KvStore> one = empty_stores(), both = empty_stores();
  const std::vector<float> alone = read(false, one), together = read(true, both);
  EXPECT_LT(furthest(alone, together), 1e-3);
  for (size_t i = 0; i < 2; ++i) {
    const std::vector<float> want = last_rows(one[i]);
    ASSERT_FALSE(want.empty());
    EXPECT_LT(furthest(want, last_rows(both[i])), 1e-3) << "store " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, PassesTogether,
                         testing::ValuesIn(testing_support::tiny_models(LONGHAUL_TEST_DATA)),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace longhaul
