// Passes whose layers are computed for all of their rows together. Each must give the result that
// it gives alone.

#include <gtest/gtest.h>

#include "attention/method_spec.h"
#include "attention/parts/passes.h"
#include "attention/settings.h"
#include "attention/test_name.h"
#include "base/error.h"
#include "engine/short_nano.h"
#include "engine/tiny_models.h"
#include "model/decoder.h"

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

  /// Reads the prompt's second half, which is discarded, and then both halves, separately or
  /// together. Leaves their keys and values in `store`. Returns the states of all rows.
  std::vector<float> read(bool at_once, KvStore& store) const {
    const auto count = std::ssize(ids_);
    Decoder decoder(engine_->model(), Compute::kF32);
    ModelShape shape = engine_->model().shape;
    set_context_length(engine_->model(), count, shape);
    AttentionRecord record;
    const ModelConfig& config = engine_->model().config;
    RecurrentState recurrent(config.layer_state(), config.recurrent_layers(), 0);
    AttentionDriver driver(MethodSpec::parse("dense").make_method(engine_->model().shape),
                           engine_->model().shape);
    driver.prepare({0, count, 0, static_cast<int>(count)});
    std::vector<Pass> order{{.begin = half_, .count = count - half_, .discard = true},
                            {.count = half_},
                            {.begin = half_, .count = count - half_}};
    mark_taken_back(order);
    std::vector<ForwardPass> passes;
    for (const Pass& pass : order) passes.push_back(ForwardPass::of(ids_, 0, pass));
    std::vector<float> states;
    const size_t each = at_once ? passes.size() : 1;
    for (size_t i = 0; i < passes.size(); i += each) {
      const SequenceRows all{
          std::span(passes).subspan(i, each), {&store, 1}, &driver, &shape, &record, &recurrent};
      const float* const hidden = decoder.forward(all);
      recurrent.commit();
      states.insert(states.end(), hidden, hidden + all.rows() * engine_->model().config.hidden);
    }
    return states;
  }

  KvStore empty_store() const {
    const ModelShape& shape = engine_->model().shape;
    const AttentionDriver driver(MethodSpec::parse("dense").make_method(shape), shape);
    return KvStore(driver.layout(shape, DType::F32));
  }

  /// Keys and values of the last layer, which depend on all earlier layers.
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

/// A text read by a method, and the resulting state.
class MethodReading {
 public:
  MethodReading(const Model& model, const std::string& spec)
      : model_(model),
        driver_(MethodSpec::parse(spec).make_method(model.shape), model.shape),
        decoder_(model, Compute::kF32) {
    streams_.emplace_back(driver_.layout(model.shape, DType::F32));
  }

  /// Reads in passes of at most 32 rows, with `at_once` of them computed together.
  void read(std::span<const int32_t> text, size_t at_once) {
    const int64_t begin = read_;
    const std::vector<Pass> passes = driver_.prepare({begin, std::ssize(text), 16, 32});
    set_context_length(model_, begin + std::ssize(text), shape_);
    while (static_cast<int>(streams_.size()) < driver_.streams()) {
      streams_.push_back(streams_.front().fork());
    }
    std::vector<ForwardPass> forward;
    for (const Pass& pass : passes) forward.push_back(ForwardPass::of(text, begin, pass));
    for (std::span<const ForwardPass> left = forward; !left.empty();) {
      const SequenceRows all{left.first(std::min(at_once, left.size())),
                             streams_,
                             &driver_,
                             &shape_,
                             &record_,
                             &recurrent_};
      const float* const hidden = decoder_.forward(all);
      recurrent_.commit();
      logits_.resize(static_cast<size_t>(model_.config.vocab));
      decoder_.logits(hidden + (all.rows() - 1) * model_.config.hidden, 1, logits_.data());
      for (const ForwardPass& pass : all.passes) driver_.finish(streams_, pass.pass);
      left = left.subspan(all.passes.size());
    }
    streams_.erase(streams_.begin() + 1, streams_.end());
    read_ += std::ssize(text);
  }

  const std::vector<float>& logits() const { return logits_; }
  int64_t pairs() const { return record_.pairs; }
  /// Tokens of every list of every layer, concatenated.
  std::vector<int64_t> kept() const {
    std::vector<int64_t> tokens;
    const KvStore& store = streams_.front();
    for (int layer = 0; layer < model_.shape.layers; ++layer) {
      for (int list = 0; list < store.lists(layer); ++list) {
        for (int64_t row = 0; row < store.length(layer, list); ++row) {
          tokens.push_back(store.token_of(layer, list, row));
        }
      }
    }
    return tokens;
  }

 private:
  const Model& model_;
  AttentionDriver driver_;
  Decoder decoder_;
  ModelShape shape_ = model_.shape;
  AttentionRecord record_;
  RecurrentState recurrent_{model_.config.layer_state(), model_.config.recurrent_layers(), 0};
  std::vector<KvStore> streams_;
  std::vector<float> logits_;
  int64_t read_ = 0;
};

/// Methods that begin a layer for all passes at once (MethodPlan::begins_together). Blocks end
/// within passes and passes within blocks. Some have no first tokens; one has a window of one
/// token.
constexpr const char* kBeginTogether[] = {
    "infllm:n_init=0,n_local=13,block=5,topk=2,cached=3,repr_topk=2,chunk=7",
    "infllm:n_init=3,n_local=1,block=4,topk=3,cached=3,repr_topk=2,chunk=8",
    "infllm:n_init=2,n_local=9,block=3,topk=2,cached=3,repr_topk=2,chunk=1",
    "ltri:form=paper,n_init=3,n_local=12,block=4,topk=2,cached=3,chunk=6,last=3,queries=spans",
    "ltri:form=paper,n_init=0,n_local=11,block=4,topk=2,cached=3,chunk=8,last=8,queries=spans"};

/// Models with their own windows, sinks and capped logits.
class LookUpsPassesTogether : public testing::TestWithParam<TinyModel> {};

TEST_P(LookUpsPassesTogether, LeaveWhatEachLeavesAlone) {
  const auto engine = Engine::open(GetParam().model);
  const std::vector<int32_t> text = testing_support::scattered_tokens(90, 3, 250);
  const ModelShape& shape = engine->model().shape;
  for (const char* const spec : kBeginTogether) {
    SCOPED_TRACE(spec);
    if (shape.chunked || !shape.query_weights.empty()) {
      EXPECT_THROW(MethodSpec::parse(spec).make(shape), UserError);
      continue;
    }
    MethodReading alone(engine->model(), spec), all(engine->model(), spec);
    for (const auto part : {std::span(text).first(70), std::span(text).subspan(70)}) {
      alone.read(part, 1);
      all.read(part, 1000);
      EXPECT_LT(furthest(alone.logits(), all.logits()), 2e-3);
      EXPECT_EQ(all.pairs(), alone.pairs());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, LookUpsPassesTogether,
                         testing::ValuesIn(testing_support::tiny_models(LONGHAUL_TEST_DATA)),
                         [](const auto& test) { return test.param.name; });

class MethodsPassesTogether : public testing::TestWithParam<std::string> {};

/// A pass may depend on its own layer in earlier passes and on its own earlier layers. Other
/// dependencies of a method would show here. A second prompt uses the state left by the first.
TEST_P(MethodsPassesTogether, LeaveWhatEachLeavesAlone) {
  const auto engine = testing_support::short_nano();
  // No repetitions, since repeated blocks have equal scores.
  const std::vector<int32_t> text = testing_support::scattered_tokens(260, 0, 2000, 3);
  MethodReading alone(engine->model(), GetParam()), threes(engine->model(), GetParam()),
      all(engine->model(), GetParam());
  for (const auto part : {std::span(text).first(200), std::span(text).subspan(200)}) {
    alone.read(part, 1);
    threes.read(part, 3);
    all.read(part, 1000);
    for (const MethodReading* together : {&threes, &all}) {
      EXPECT_LT(furthest(alone.logits(), together->logits()), 2e-3);
      EXPECT_EQ(together->kept(), alone.kept());
      EXPECT_EQ(together->pairs(), alone.pairs());
    }
  }
}

std::vector<std::string> settings_of_all() {
  std::vector<std::string> specs;
  for (const auto& small : testing_support::first_of_each_kind(testing_support::small_settings())) {
    specs.push_back(small.spec);
  }
  const std::string ltri = "n_init=3,n_local=12,block=4,topk=2,cached=3,chunk=8,last=8";
  specs.push_back("ltri:heads=0.1/2.5:2/3.3,early=window," + ltri);
  specs.insert(specs.end(), std::begin(kBeginTogether), std::end(kBeginTogether));
  specs.emplace_back("minference:patterns=search,search_at=40,dense_below=8,last=8");
  return specs;
}

INSTANTIATE_TEST_SUITE_P(Registry, MethodsPassesTogether, testing::ValuesIn(settings_of_all()),
                         [](const auto& test) { return testing_support::test_name(test.param); });

}  // namespace
}  // namespace longhaul
