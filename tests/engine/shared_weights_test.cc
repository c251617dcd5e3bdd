// Engines that differ only in their adapters: they use the same weights, and one runner computes
// sequences of all of them.

#include <gtest/gtest.h>

#include <filesystem>

#include "engine/exact_logits.h"
#include "engine/model_runner.h"
#include "engine/prefill.h"
#include "model/device_model.h"
#include "ops/fake_device.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using testing_support::exact_options;
using testing_support::fake_queue;
using testing_support::logits_at;
using testing_support::scattered_tokens;

using Logits = std::vector<float>;
using EnginePtr = std::shared_ptr<const Engine>;

const fs::path kModels = fs::path(LONGHAUL_TEST_DATA) / "tiny_models";
const fs::path kAdapters = fs::path(LONGHAUL_TEST_DATA) / "adapters";

/// The tiny model alone, with an adapter, and with two of them.
std::vector<EnginePtr> three_sets() {
  const auto base = Engine::open(kModels / "llama_linear");
  return {base, Engine::with_adapters(base, {{kAdapters / "llama_linear", 1}}),
          Engine::with_adapters(
              base, {{kAdapters / "llama_wide", 0.5}, {kAdapters / "llama_linear", 1}})};
}

TEST(SharedWeights, AreStoredOnce) {
  const auto sets = three_sets();
  const Model &base = sets[0]->model(), &other = sets[1]->model();
  for (size_t l = 0; l < base.layers.size(); ++l) {
    EXPECT_EQ(base.layers[l].q.data, other.layers[l].q.data);
    EXPECT_EQ(base.layers[l].down.data, other.layers[l].down.data);
  }
  EXPECT_EQ(base.embedding.data, other.embedding.data);
  EXPECT_EQ(&sets[0]->checkpoint(), &sets[1]->checkpoint());
  EXPECT_EQ(sets[0]->bytes_beside_base({}), 0u);
  const size_t one = sets[1]->bytes_beside_base({});
  EXPECT_GE(one, sets[1]->adapter_bytes());
  EXPECT_LT(one, 3 * sets[1]->adapter_bytes());  // with the factors in the form for decode
}

TEST(SharedWeights, LieOnADeviceOnce) {
  const auto sets = three_sets();
  const Queue queue = fake_queue();
  const auto base = sets[0]->on_device(queue), other = sets[1]->on_device(queue);
  for (int l = 0; l < sets[0]->model().config.layers; ++l) {
    EXPECT_EQ(base->layer(l).q.matrix, other->layer(l).q.matrix);
    EXPECT_EQ(base->layer(l).k.matrix, other->layer(l).k.matrix);
    EXPECT_EQ(base->layer(l).down.matrix, other->layer(l).down.matrix);
    EXPECT_EQ(base->layer(l).q.adapter.a, nullptr);
    EXPECT_NE(other->layer(l).q.adapter.a, nullptr);
  }
  EXPECT_EQ(&base->embedding(), &other->embedding());
  EXPECT_EQ(base->own_bytes(), base->bytes());
  EXPECT_LT(other->own_bytes(), base->bytes());
  EXPECT_GT(other->bytes(), base->bytes());
  EXPECT_EQ(sets[1]->bytes_beside_base(queue), other->own_bytes());
}

/// Keys of latent vectors are transposed when a model is loaded; the delta nets of the other models
/// divide interleaved rows, and the last ones have experts.
TEST(SharedWeights, OfOtherFamiliesTooLieOnADeviceOnce) {
  const Queue queue = fake_queue();
  for (const char* name : {"deepseek_v2", "qwen3_next", "qwen3_5", "qwen3_moe", "phi3", "gemma4"}) {
    const auto base = Engine::open(kModels / name);
    const auto other = Engine::with_adapters(base, {});
    const auto ids = scattered_tokens(40);
    SessionOptions options = exact_options();
    options.queue = queue;
    EXPECT_EQ(logits_at(base, options, ids, {39}), logits_at(other, options, ids, {39})) << name;
    const size_t own = other->on_device(queue)->own_bytes(), all = base->on_device(queue)->bytes();
    EXPECT_LT(own, all / 10) << name;  // norms and biases
    if (base->model().layers[0].k_up.data == nullptr) continue;
    EXPECT_EQ(base->model().layers[0].k_up.data, other->model().layers[0].k_up.data);
    EXPECT_TRUE(other->model().turned.empty());
  }
}

TEST(SharedWeights, GiveTheLogitsOfAnEngineOfItsOwn) {
  const auto shared = three_sets()[1];
  const auto alone = Engine::open({kModels / "llama_linear", {{kAdapters / "llama_linear", 1}}});
  EXPECT_EQ(shared->fingerprint(), alone->fingerprint());
  const auto ids = scattered_tokens(100);
  for (const bool on_device : {false, true}) {
    SessionOptions options = exact_options(32);
    if (on_device) options.queue = fake_queue();
    EXPECT_EQ(logits_at(shared, options, ids, {50, 99}), logits_at(alone, options, ids, {50, 99}));
  }
}

TEST(SharedWeights, StayAfterTheBaseIsGone) {
  auto sets = three_sets();
  const auto ids = scattered_tokens(60);
  const auto before = logits_at(sets[1], exact_options(), ids, {59});
  const EnginePtr kept = sets[1];
  sets.clear();
  EXPECT_EQ(logits_at(kept, exact_options(), ids, {59}), before);
}

TEST(SharedWeights, AreRefusedWithAnAdapterThatDoesNotFit) {
  const auto base = Engine::open(kModels / "llama_linear");
  EXPECT_THROW(Engine::with_adapters(base, {{kAdapters / "qwen2", 1}}), UserError);
  EXPECT_THROW(Engine::with_adapters(base, {{kAdapters / "nowhere", 1}}), UserError);
}

int32_t likeliest_of(const Sequence& sequence) {
  return static_cast<int32_t>(std::ranges::max_element(sequence.logits()) -
                              sequence.logits().begin());
}

/// Logits of a prompt and of a greedy reply in a runner of its own.
std::vector<Logits> reply_alone(const EnginePtr& engine, const SessionOptions& options,
                                const std::vector<int32_t>& ids, int tokens) {
  ModelRunner runner(engine, options.queue, options.compute);
  Sequence sequence(engine, options);
  prefill(sequence, runner, ids, {});
  std::vector<Logits> all;
  for (int i = 0; i < tokens; ++i) {
    runner.decode(sequence, likeliest_of(sequence));
    all.emplace_back(sequence.logits().begin(), sequence.logits().end());
  }
  return all;
}

/// Sequences of all sets are prefilled and decoded by the runners of the base, with each prefill
/// between the layers of another one's.
TEST(SharedWeights, ARunnerComputesSequencesOfAllSets) {
  constexpr int kReply = 6;
  const auto sets = three_sets();
  for (const bool on_device : {false, true}) {
    SessionOptions options;
    options.chunk = 16;
    if (on_device) options.queue = fake_queue();
    ModelRunner reads(sets[0], options.queue, options.compute),
        decodes(sets[0], options.queue, options.compute);
    std::vector<std::unique_ptr<Sequence>> sequences;
    std::vector<std::vector<Logits>> want;
    for (int i = 0; i < 7; ++i) {
      const EnginePtr& engine = sets[static_cast<size_t>(i * 2 % 3)];
      const auto ids = scattered_tokens(40 + 5 * i, i);
      want.push_back(reply_alone(engine, options, ids, kReply));
      sequences.push_back(std::make_unique<Sequence>(engine, options));
      Prefill prompt(*sequences.back(), ids, {});
      while (prompt.step(reads, [&] {
        if (i == 0) return;
        Sequence other = sequences.front()->clone();  // another set than most prompts
        decodes.decode(other, likeliest_of(other));
      }) == PrefillStep::kMore) {
      }
    }
    for (int step = 0; step < kReply; ++step) {
      std::vector<DecodeRow> rows;
      for (const auto& each : sequences) rows.push_back({each.get(), likeliest_of(*each)});
      decodes.decode(rows);
      for (size_t i = 0; i < rows.size(); ++i) {
        ASSERT_FALSE(rows[i].failed);
        const Logits got(sequences[i]->logits().begin(), sequences[i]->logits().end());
        EXPECT_EQ(got, want[i][static_cast<size_t>(step)])
            << "sequence " << i << ", step " << step << ", on a device " << on_device;
      }
    }
  }
}

}  // namespace
}  // namespace longhaul
