// A pass of which only the last row's state is needed: the last layer skips the other rows.

#include <gtest/gtest.h>

#include "engine/tiny_models.h"
#include "model/decoder.h"

namespace longhaul {
namespace {

using testing_support::exact_options;
using testing_support::furthest;
using testing_support::TinyModel;

class LastState : public testing::TestWithParam<TinyModel> {};

TEST_P(LastState, IsThatOfTheWholePass) {
  const auto engine = Engine::open(GetParam().model);
  const Model& model = engine->model();
  const std::vector<int32_t> ids = GetParam().prompt();
  const auto count = static_cast<int64_t>(ids.size());
  std::vector<float> states[2];  // indexed by last_state
  for (const bool last : {false, true}) {
    Decoder decoder(model, Compute::kF32);
    ModelShape shape = model.shape;
    set_context_length(model, count, shape);
    AttentionRecord record;
    AttentionDriver driver(MethodSpec::parse("dense").make_method(model.shape), model.shape);
    const auto chunk = static_cast<int>((count + 31) / 32 * 32);  // long passes have whole blocks
    const std::vector<Pass> passes = driver.prepare({0, count, 0, chunk});
    ASSERT_EQ(passes.size(), 1u);
    std::vector<KvStore> streams;
    streams.emplace_back(driver.layout(shape, DType::F32));
    const ForwardPass whole{.tokens = ids, .pass = passes[0]};
    RecurrentState recurrent(model.config.layer_state(), model.config.recurrent_layers(), 0);
    const float* hidden = decoder.forward(
        {{&whole, 1}, streams, &driver, &shape, &record, &recurrent}, {.last_state = last});
    const int64_t width = model.config.hidden;
    hidden += last ? 0 : (count - 1) * width;
    states[last].assign(hidden, hidden + width);
  }
  EXPECT_LT(furthest(states[0], states[1]), 1e-3);
}

/// One pass, and several passes of which only the last gives logits. Afterwards a token reads the
/// rows that the passes left.
TEST_P(LastState, ASessionRepliesAsOneThatIsAskedForAllLogits) {
  const auto engine = Engine::open(GetParam().model);
  const std::vector<int32_t> ids = GetParam().prompt();
  for (const int chunk : {1024, 7}) {
    Session all(engine, exact_options(chunk)), last(engine, exact_options(chunk));
    PrefillHooks hooks;
    hooks.all_logits = [](int64_t, int64_t, const float*) {};
    all.prefill(ids, hooks);
    last.prefill(ids);
    for (int i = 0; i < 2; ++i) {
      const std::vector<float> a(all.logits().begin(), all.logits().end());
      const std::vector<float> b(last.logits().begin(), last.logits().end());
      EXPECT_LT(furthest(a, b), 1e-3) << "chunk " << chunk << ", tokens decoded " << i;
      all.decode(ids[0]);
      last.decode(ids[0]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, LastState,
                         testing::ValuesIn(testing_support::tiny_models(LONGHAUL_TEST_DATA)),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace longhaul
