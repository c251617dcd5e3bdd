#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "attention/attention_by_distance.h"
#include "attention/eviction_oracle.h"
#include "attention/methods/infllm/infllm_oracle.h"
#include "attention/parts/context_blocks.h"
#include "attention/through_file.h"
#include "base/error.h"

namespace longhaul {
namespace {

using testing_support::BlockOracle;
using testing_support::error_of;
using testing_support::expect_by_distance;
using testing_support::largest_difference;
using testing_support::LayerInputs;
using testing_support::make;
using testing_support::MethodRun;
using testing_support::move_through_file;
using testing_support::OracleOptions;
using testing_support::rotated_row;
using testing_support::small_shape;

constexpr const char* kSmallBlocks =
    "infllm:n_init=8,n_local=40,block=16,topk=2,repr_topk=2,chunk=24,cached=2";

/// The steps of `run`: prompts in chunks of `rows`, with the last token separate.
struct Steps {
  explicit Steps(const MethodRun& run, OracleOptions options = {}) {
    for (int layer = 0; layer < run.shape.layers; ++layer) {
      layers.emplace_back(run.shape, layer, run.inputs[static_cast<size_t>(layer)], options);
    }
  }
  void step(int64_t rows) {
    for (BlockOracle& layer : layers) layer.step(done, rows);
    done += rows;
  }
  void prompt(int64_t tokens, int64_t rows) {
    for (const int64_t end = done + tokens - 1; done < end;) step(std::min(rows, end - done));
    step(1);
  }
  void decode(int64_t tokens) {
    for (int64_t i = 0; i < tokens; ++i) step(1);
  }
  void expect_equal(const MethodRun& run, double allowed = 5e-5) const {
    ASSERT_EQ(run.done, done);
    for (size_t l = 0; l < layers.size(); ++l) {
      std::vector<double> want = layers[l].out;
      want.resize(static_cast<size_t>(done * run.shape.heads * run.shape.head_dim));
      EXPECT_LT(largest_difference(run.out[l], want), allowed) << "layer " << l;
    }
  }
  std::vector<BlockOracle> layers;
  int64_t done = 0;
};

TEST(ContextSplit, AgesAsTheTimelineTells) {
  const BlockOptions o;
  const auto is = [&](int64_t tokens, int64_t init, int64_t blocks, int64_t remainder) {
    const ContextSplit split = split_context(o, tokens);
    EXPECT_EQ(split.init, init) << tokens;
    EXPECT_EQ(split.blocks, blocks) << tokens;
    EXPECT_EQ(tokens - split.remainder, remainder) << tokens;
  };
  is(0, 0, 0, 0);
  is(4096, 0, 0, 4096);
  is(4097, 1, 0, 4096);
  is(4608, 128, 3, 4096);
  is(5120, 128, 7, 4096);
  is(8192, 128, 31, 4096);
  is(100000, 128, 748, 4128);
}

TEST(InfLlm, EqualsItsDefinitionForEveryGroupSize) {
  for (const int group : {1, 2, 3, 8}) {
    const ModelShape shape = small_shape(2, 2, group, 32);
    const auto method = make(kSmallBlocks, shape);
    MethodRun run(shape, *method, DType::F32, 330);
    run.prompt(311, 512);
    run.decode(19);
    Steps steps(run);
    steps.prompt(311, 24);
    steps.decode(19);
    steps.expect_equal(run);
    EXPECT_EQ(steps.layers[0].blocks.size(), 17u);
    EXPECT_EQ(steps.layers[0].chosen.size(), 2u);
  }
}

TEST(InfLlm, EqualsItsDefinitionWhateverTheBlocksAndPages) {
  for (const auto& [text, o] : std::vector<std::pair<std::string, OracleOptions>>{
           {"n_init=0,n_local=33,block=7,topk=3,repr_topk=1,cached=3", {0, 33, 7, 3, 1, false, 32}},
           {"n_init=5,n_local=64,block=64,topk=1,repr_topk=4,cached=1",
            {5, 64, 64, 1, 4, false, 63}},
           {"n_init=64,n_local=64,block=64,topk=1,repr_topk=4,cached=1",
            {64, 64, 64, 1, 4, false, 63}},
           {"n_init=8,n_local=1,block=5,topk=4,cached=9", {8, 1, 5, 4, 4, false, 0}},
           {"n_init=8,n_local=40,block=16,topk=0,cached=1", {8, 40, 16, 0, 4, false, 39}},
           {"n_init=8,n_local=40,block=16,topk=2,repr_mode=max,fidelity=paper",
            {8, 40, 16, 2, 4, true, 40}}}) {
    const ModelShape shape = small_shape(1, 2, 2, 32);
    const auto method = make("infllm:chunk=50," + text, shape);
    MethodRun run(shape, *method, DType::F32, 420);
    run.prompt(401, 1000);
    run.decode(19);
    Steps steps(run, o);
    steps.prompt(401, 50);
    steps.decode(19);
    steps.expect_equal(run);
  }
}

TEST(InfLlm, CountsItsIndexAsMemory) {
  const ModelShape shape = small_shape(2, 2, 3, 32);
  const auto method = make(kSmallBlocks, shape);
  MethodRun run(shape, *method, DType::BF16, 330);
  EXPECT_EQ(method->index_bytes(), 0u);
  run.prompt(311, 512);
  // 16 blocks in 2 layers, each with a bf16 vector per head (6 heads) and its copy in Q4_0.
  EXPECT_EQ(method->index_bytes(), 2u * 16 * 6 * (32 * 2 + 18));
}

TEST(InfLlm, AStepIsAtMostTheChunkThatIsAllowed) {
  const ModelShape shape = small_shape(1, 2, 2, 32);
  for (const int64_t rows : {1, 7, 24}) {
    const auto method = make(kSmallBlocks, shape);
    MethodRun run(shape, *method, DType::F32, 200);
    run.prompt(200, static_cast<int>(rows));
    Steps steps(run);
    steps.prompt(200, rows);
    steps.expect_equal(run);
  }
}

TEST(InfLlm, TheLastTokenOfAPromptRunsAlone) {
  const auto method = make("infllm", small_shape(1, 1, 1, 32));
  const std::vector<Pass> passes = method->prepare({0, 1025, 0, 1024});
  ASSERT_EQ(passes.size(), 3u);
  EXPECT_EQ(passes[0].count, 512);
  EXPECT_EQ(passes[1].count, 512);
  EXPECT_EQ(passes[2].count, 1);
  EXPECT_EQ(method->prepare({7, 1, 0, 1024}).size(), 1u);
}

TEST(InfLlm, ASecondQuestionAfterSavingAndRestoring) {
  const ModelShape shape = small_shape(2, 2, 3, 32);
  const auto method = make(kSmallBlocks, shape);
  MethodRun run(shape, *method, DType::F32, 720);
  Steps steps(run);
  run.prompt(501, 64);
  run.decode(30);
  steps.prompt(501, 24);
  steps.decode(30);
  EXPECT_GT(run.store.spilled_bytes(), 0u);
  const auto restored = make(kSmallBlocks, shape);
  MethodRun next(shape, *restored, DType::F32, 720);
  move_through_file(run, next);
  EXPECT_GE(next.store.spilled_bytes(), run.store.spilled_bytes());
  next.prompt(150, 64);
  next.decode(20);
  steps.prompt(150, 24);
  steps.decode(20);
  steps.expect_equal(next);
}

TEST(InfLlm, APromptThatWasCutShortGoesOn) {
  const ModelShape shape = small_shape(2, 1, 2, 32);
  const auto method = make(kSmallBlocks, shape);
  MethodRun run(shape, *method, DType::F32, 300);
  Steps steps(run);
  const auto passes = method->prepare({0, 250, 0, 64});
  for (int i = 0; i < 4; ++i) {
    run.pass(run.done, passes[static_cast<size_t>(i)].count, false);
    run.done += passes[static_cast<size_t>(i)].count;
    steps.step(24);
  }
  run.prompt(100, 64);
  run.decode(5);
  steps.prompt(100, 24);
  steps.decode(5);
  steps.expect_equal(run);
}

TEST(InfLlm, WithoutBlocksTokensAreFarOrForgotten) {
  // Blocks as long as the text never form: tokens older than the window are init or aged.
  const ModelShape shape = small_shape(1, 2, 2, 32);
  const auto method = make("infllm:n_init=6,n_local=40,block=65536,topk=0,chunk=29", shape);
  MethodRun run(shape, *method, DType::F32, 200);
  run.prompt(190, 64);
  run.decode(10);
  expect_by_distance(run, [](int, int, int64_t i, int64_t j) -> std::optional<int64_t> {
    return std::min<int64_t>(i - j, 39);
  });
}

TEST(InfLlm, IsLmInfiniteButForTheTokenThatAges) {
  // With steps of one row and blocks of one token, every token older than the window is init,
  // evicted, or the one token that ages in this step. That token joins the softmax at the distance
  // of init.
  const ModelShape shape = small_shape(2, 2, 2, 32);
  const auto method = make("infllm:n_init=6,n_local=40,block=1,topk=0,chunk=1,repr_topk=1", shape);
  const auto other = make("lminfinite:global=6,local=40,limit=39", shape);
  MethodRun run(shape, *method, DType::F32, 150), lm(shape, *other, DType::F32, 150);
  for (MethodRun* each : {&run, &lm}) {
    each->prompt(140, 1);
    each->decode(10);
  }
  for (size_t l = 0; l < 2; ++l) {
    const LayerInputs& in = run.inputs[l];
    const auto weight = [&](int64_t i, int64_t j, int head) {
      const auto q = rotated_row(shape, in.q, i, 4, head, std::min<int64_t>(i - j, 39));
      const auto k = rotated_row(shape, in.k, j, 2, head / 2, 0);
      return std::exp(shape.scale * std::inner_product(q.begin(), q.end(), k.begin(), 0.0));
    };
    for (int64_t i = 0; i < 150; ++i) {
      const int64_t aged = i - 40;
      for (int head = 0; head < 4; ++head) {
        double seen = 0;
        for (int64_t j = 0; j <= i; ++j) seen += i - j < 40 || j < 6 ? weight(i, j, head) : 0;
        const double more = aged < 6 ? 0 : weight(i, aged, head);
        for (int64_t t = 0; t < 32; ++t) {
          const size_t at = static_cast<size_t>((i * 4 + head) * 32 + t);
          const double v = aged < 6 ? 0 : in.v[static_cast<size_t>((aged * 2 + head / 2) * 32 + t)];
          ASSERT_NEAR(run.out[l][at], (lm.out[l][at] * seen + v * more) / (seen + more), 3e-5)
              << "layer " << l << " token " << i;
        }
      }
    }
  }
  expect_by_distance(run, [](int, int, int64_t i, int64_t j) -> std::optional<int64_t> {
    if (i - j < 40) return i - j;
    if (j < 6 || i - j == 40) return 39;
    return std::nullopt;
  });
}

TEST(InfLlm, MovingABlockDoesNotChangeWhatARowGetsFromIt) {
  // All rows choose every block, so the order of two blocks' tokens must not matter.
  const ModelShape shape = small_shape(1, 1, 2, 32);
  std::vector<float> last[2];
  for (const int swapped : {0, 1}) {
    const auto method = make("infllm:n_init=4,n_local=20,block=16,topk=9,chunk=16", shape);
    MethodRun run(shape, *method, DType::F32, 120);
    if (swapped == 1) {  // the tokens of the blocks at 4 and at 36
      for (auto* x : {&run.inputs[0].k, &run.inputs[0].v}) {
        std::swap_ranges(x->begin() + 4 * 32, x->begin() + 20 * 32, x->begin() + 36 * 32);
      }
    }
    run.prompt(120, 64);
    last[swapped].assign(run.out[0].end() - 64, run.out[0].end());
  }
  for (size_t i = 0; i < 64; ++i) EXPECT_NEAR(last[0][i], last[1][i], 2e-6);
}

/// Number of steps, in prompts and generation, in which every list contains the 16 rows from `row`
/// on, and number of steps in which some list does not. All lists of a step see equal rows.
std::pair<int, int> shown(const char* text, std::vector<int64_t> evidence, int32_t row) {
  const ModelShape shape = small_shape(2, 2, 2, 32);
  const auto method = make(text, shape);
  MethodRun run(shape, *method, DType::F32, 300);
  run.evidence = std::move(evidence);
  std::vector<int32_t> block(16);
  std::iota(block.begin(), block.end(), row);
  std::map<std::pair<int, int64_t>, bool> steps;  // by layer and first token
  run.record.observer = [&](const LayerStep& step, std::span<const AttendTask> tasks) {
    if (split_context({.init = 8, .local = 40, .block = 16}, step.begin).blocks < 7) return;
    bool& seen = steps[{step.layer, step.begin}];
    for (const AttendTask& task : tasks) {
      for (const KeySegment& segment : task.segments) {
        const auto rows = host(segment.index);
        seen |= std::search(rows.begin(), rows.end(), block.begin(), block.end()) != rows.end();
      }
    }
  };
  run.prompt(290, 24);
  run.decode(10);
  const auto seen = std::ranges::count_if(steps, [](const auto& step) { return step.second; });
  return {static_cast<int>(seen), static_cast<int>(std::ssize(steps) - seen)};
}

TEST(InfLlm, EveryStepSeesTheEvidence) {
  // Blocks begin at token 8. The evidence, tokens 102 to 104, begins in block 5 and continues in
  // block 6.
  const char* ltri =
      "ltri:form=longhaul,n_init=8,n_local=40,block=16,topk=2,chunk=24,last=8,cached=2";
  for (const char* text : {kSmallBlocks, ltri}) {
    for (const int32_t row : {88, 104}) {
      EXPECT_GT(shown(text, {}, row).second, 10) << text << ": it is not chosen by itself";
      const auto [seen, missed] = shown(text, {3, 102, 103, 104}, row);
      EXPECT_GT(seen, 30) << text;
      EXPECT_EQ(missed, 0) << text << " row " << row;
    }
  }
}

TEST(InfLlm, MemoryStaysBoundedWhileTheTierGrows) {
  const ModelShape shape = small_shape(2, 2, 2, 32);
  const auto method = make("infllm:n_init=64,n_local=128,block=64,topk=2,chunk=64,cached=4", shape);
  MethodRun run(shape, *method, DType::BF16, 6000);
  run.prompt(1000, 64);
  const size_t early = run.store.bytes();
  run.prompt(4990, 64);
  run.decode(10);
  EXPECT_LE(run.store.bytes(), early + 2 * 4 * run.store.layout().page_bytes() + 100000);
  EXPECT_LE(run.store.bytes(), method->most_kv_bytes(run.store.layout(), 6000, 64));
  EXPECT_GT(run.store.spilled_bytes(), 4 * run.store.bytes());
}

TEST(InfLlm, TheWindowFollowsTheTrainedLength) {
  const auto reach = [](const char* text, int64_t trained) {
    ModelShape shape = small_shape(1, 1, 1, 32);
    shape.trained_context = trained;
    return make(text, shape)->reach(100000, 512);
  };
  for (const char* method : {"infllm", "ltri"}) {
    EXPECT_EQ(reach(method, 2048), 1024) << method;
    EXPECT_EQ(reach(method, 16384), 2048) << method;
    EXPECT_EQ(reach(method, 131072), 4096) << method;
    EXPECT_EQ(reach(method, 0), 4096) << method << ", unknown";
  }
  EXPECT_EQ(reach("infllm:n_local=6000", 2048), 6000);
}

TEST(InfLlm, RefusesWhatCannotWork) {
  const ModelShape shape = small_shape(1, 1, 1, 32);
  const auto refused = [&](const char* text) { return error_of([&] { make(text, shape); }); };
  EXPECT_NE(refused("infllm:cached=8").find("cached=8"), std::string::npos);
  EXPECT_NE(refused("infllm:block=2").find("repr_topk=4"), std::string::npos);
  EXPECT_NE(refused("infllm:n_local=0").find("n_local=0"), std::string::npos);
}

}  // namespace
}  // namespace longhaul
