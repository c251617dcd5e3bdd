// The backward pass through whole models, compared with torch's autograd
// (tests/data/goldens/gradients, made by tools/make_goldens.py gradients) and with finite
// differences.

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "format/checkpoint.h"
#include "ops/core/fill.h"
#include "ops/fake_device.h"
#include "ops/matmul/dequantize.h"
#include "ops/random_floats.h"
#include "training/gated_attention.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kData = LONGHAUL_TEST_DATA;

struct Tiny {
  explicit Tiny(const std::string& name)
      : checkpoint(open_checkpoint(kData / "tiny_models" / name)), model(load_model(checkpoint)) {}
  Checkpoint checkpoint;
  Model model;
};

json golden_of(const std::string& name) {
  return json::parse(std::ifstream(kData / "goldens/gradients" / (name + ".json")));
}

void expect_near(std::span<const float> found, const std::vector<double>& expected, double share) {
  ASSERT_EQ(found.size(), expected.size());
  double largest = 0;
  for (const double x : expected) largest = std::max(largest, std::abs(x));
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], share * largest) << i;
  }
}

FrozenDecoder decoder_on(const Queue& queue, const Model& model) {
  if (queue.on_host()) return {model, Compute::kF32};
  return FrozenDecoder(std::make_shared<DeviceModel>(model, queue));
}

/// The mean squared difference of the last rows' hidden states from the model's, and its gradient.
struct GatedLoss {
  GatedLoss(const Tiny& tiny, const json& golden, const Gates& gates, bool of_model,
            const Queue& queue = {})
      : tokens(golden["ids"].get<std::vector<int32_t>>()),
        rows(golden["answer"]),
        plain(decoder_on(queue, tiny.model)),
        decoder(decoder_on(queue, tiny.model)),
        full(plain, AttendCompute::kF32, of_model),
        gated(decoder, AttendCompute::kF32, gates, {golden["sink"], golden["recent"]},
              of_model ? &full : nullptr) {
    const int64_t hidden = tiny.model.config.hidden;
    const auto first = (static_cast<int64_t>(tokens.size()) - rows) * hidden;
    std::vector<float> wanted(static_cast<size_t>(rows * hidden)), found = wanted;
    plain.final_norm(plain.forward(tokens, full, false).from(first), rows, wanted.data());
    const View<const float> states = decoder.forward(tokens, gated, true).from(first);
    decoder.final_norm(states, rows, found.data());
    for (size_t i = 0; i < found.size(); ++i) {
      const double apart = static_cast<double>(found[i]) - static_cast<double>(wanted[i]);
      value += apart * apart / static_cast<double>(found.size());
      found[i] = static_cast<float>(2 * apart / static_cast<double>(found.size()));
    }
    fill(decoder.queue(), d_there.resize(decoder.queue(), first + rows * hidden), 0);
    decoder.final_norm_backward(states, found.data(), rows, d_there.view().from(first));
  }
  void backward() {
    decoder.backward(gated, d_there.view());
    d.resize(static_cast<size_t>(d_there.size()));
    copy(decoder.queue(), d_there.view(), View<float>(std::span(d)));
  }

  std::vector<int32_t> tokens;
  int64_t rows;
  FrozenDecoder plain, decoder;
  FullAttention full;
  GatedAttention gated;
  double value = 0;
  Array<float> d_there;
  std::vector<float> d;  // host copy after backward()
};

class Gradients : public testing::TestWithParam<const char*> {};

void expect_rows(const json& golden, const json& expected, std::span<const float> d,
                 int64_t hidden) {
  for (size_t i = 0; i < golden["rows"].size(); ++i) {
    SCOPED_TRACE(golden["rows"][i].dump());
    const auto at = static_cast<size_t>(golden["rows"][i].get<int64_t>() * hidden);
    expect_near(d.subspan(at, static_cast<size_t>(hidden)), expected["embeddings"][i], 1e-3);
  }
}

void expect_autograds(const std::string& name, const Queue& queue) {
  const Tiny tiny(name);
  const json golden = golden_of(name);
  for (const json& expected : golden.value("gated", json::array())) {
    SCOPED_TRACE(expected["full"].dump());
    const Gates gates = golden["gates"];
    GatedLoss loss(tiny, golden, gates, expected["full"] == "model", queue);
    EXPECT_NEAR(loss.value, expected["difference"].get<double>(), 1e-3 * loss.value);
    loss.backward();
    std::vector<float> found;
    std::vector<double> wanted;
    const Gates gradient = loss.gated.gradient();
    for (size_t l = 0; l < gates.size(); ++l) {
      const auto& layer = gradient[l];
      found.insert(found.end(), layer.begin(), layer.end());
      const auto row = expected["gradient"][l].get<std::vector<double>>();
      wanted.insert(wanted.end(), row.begin(), row.end());
    }
    expect_near(found, wanted, 1e-3);
    expect_rows(golden, expected, loss.d, tiny.model.config.hidden);
  }
}

TEST_P(Gradients, OfGatesAndEmbeddingsAreAutograds) { expect_autograds(GetParam(), {}); }

TEST_P(Gradients, OfGatesAndEmbeddingsAreTheSameOnADevice) {
  expect_autograds(GetParam(), testing_support::fake_queue());
}

/// Adapters of rank 3 for every matrix of a model.
class RandomAdapters {
 public:
  explicit RandomAdapters(Model& model) {
    model.adapters.resize(model.layers.size());
    for (size_t l = 0; l < model.layers.size(); ++l) {
      const LayerWeights& w = model.layers[l];
      LayerAdapters& a = model.adapters[l];
      for (const auto& [weight, adapter] : {std::pair{&w.q, &a.q},
                                            {&w.k, &a.k},
                                            {&w.v, &a.v},
                                            {&w.output, &a.output},
                                            {&w.gate, &a.gate},
                                            {&w.up, &a.up},
                                            {&w.down, &a.down}}) {
        adapter->a = matrix(3, weight->cols());
        adapter->b = matrix(weight->rows(), 3);
        adapter->scale = {0.5f, 1.0f, 0.25f};
      }
    }
  }

 private:
  TensorView matrix(int64_t rows, int64_t cols) {
    numbers_.push_back(testing_support::random_floats(rows * cols, seed_++, 0.2f));
    TensorView view;
    view.data = reinterpret_cast<const std::byte*>(numbers_.back().data());
    view.type = DType::F32;
    view.rank = 2;
    view.shape = {rows, cols, 1, 1};
    return view;
  }
  uint32_t seed_ = 1;
  std::deque<std::vector<float>> numbers_;
};

TEST(GatesOfAModelWithAdapters, HaveTheSameGradientsOnADevice) {
  Tiny tiny("qwen2");
  const json golden = golden_of("qwen2");
  const Gates gates = golden["gates"];
  GatedLoss bare(tiny, golden, gates, false);
  bare.backward();
  const RandomAdapters adapters(tiny.model);
  GatedLoss here(tiny, golden, gates, false),
      there(tiny, golden, gates, false, testing_support::fake_queue());
  here.backward();
  there.backward();
  EXPECT_GT(std::abs(here.value - bare.value), 0.01 * bare.value) << "they change something";
  expect_near(there.d, {here.d.begin(), here.d.end()}, 1e-4);
  const Gates found = there.gated.gradient(), expected = here.gated.gradient();
  for (size_t l = 0; l < found.size(); ++l) {
    expect_near(found[l], {expected[l].begin(), expected[l].end()}, 1e-4);
  }
}

/// Full attention with a backward pass that also sums the regions of every layer.
class ProbedAttention final : public AttentionRule {
 public:
  ProbedAttention(const FrozenDecoder& decoder, const ProbedRegions& regions)
      : decoder_(decoder), full_(decoder, AttendCompute::kF32, false), regions_(regions) {}
  void forward(int layer, const AttentionRows& rows, View<float> mixed) override {
    full_.forward(layer, rows, mixed);
  }
  void backward(int layer, const AttentionRows& rows, View<const float> d_mixed,
                const AttentionRowGradients& d) override {
    full_.backward(layer, rows, d_mixed, d);
    // Layers with their own window have no regions.
    if (decoder_.causal(layer).window < decoder_.tokens()) return;
    found.resize(std::max(found.size(), static_cast<size_t>(layer) + 1));
    found[static_cast<size_t>(layer)] =
        attention_regions(decoder_.queue(), decoder_.causal(layer),
                          {rows.q, rows.k, rows.v, {}, full_.lse(), d_mixed}, regions_);
  }
  std::vector<RegionSums> found;

 private:
  const FrozenDecoder& decoder_;
  FullAttention full_;
  ProbedRegions regions_;
};

TEST_P(Gradients, OfALogitAndOfRegionsAreAutograds) {
  const json golden = golden_of(GetParam());
  const Tiny tiny(GetParam());
  const json& expected = golden["probed"];
  const int64_t hidden = tiny.model.config.hidden;
  const auto tokens = golden["ids"].get<std::vector<int32_t>>();
  FrozenDecoder decoder(tiny.model, Compute::kF32);
  ProbedAttention probed(
      decoder, {golden["region"]["sink"], golden["region"]["window"], golden["region"]["last"]});
  const auto last = static_cast<int64_t>(tokens.size() - 1) * hidden;
  const View<const float> state = decoder.forward(tokens, probed, true).from(last);
  std::vector<float> head(static_cast<size_t>(hidden));
  dequantize_row(tiny.model.head.type, tiny.model.head.row(expected["token"]), hidden, head.data());
  std::vector<float> d(tokens.size() * static_cast<size_t>(hidden));
  const View<float> all(std::span<float>{d});
  decoder.final_norm_backward(state, head.data(), 1, all.from(last));
  decoder.backward(probed, all);
  expect_rows(golden, expected, d, hidden);
  ASSERT_EQ(probed.found.size(), expected.value("regions", json::array()).size());
  for (size_t l = 0; l < probed.found.size(); ++l) {
    const RegionSums& r = probed.found[l];
    const auto wanted = expected["regions"][l].get<std::vector<double>>();
    const double found[] = {r.streaming.sum, r.last.sum, r.middle.sum};
    for (size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(found[i], wanted[i], 1e-3 * std::abs(wanted[0])) << l;
  }
}

INSTANTIATE_TEST_SUITE_P(TinyModels, Gradients,
                         testing::Values("llama_llama3", "llama_yarn", "llama_dynamic", "qwen2",
                                         "qwen3", "phi3", "mistral"),
                         [](const auto& name) { return std::string(name.param); });

TEST(GatesByFiniteDifference, MatchTheBackwardPass) {
  const Tiny tiny("qwen3");
  const json golden = golden_of("qwen3");
  Gates gates = golden["gates"];
  for (const bool of_model : {false, true}) {
    GatedLoss loss(tiny, golden, gates, of_model);
    loss.backward();
    for (size_t l = 0; l < gates.size(); ++l) {
      for (size_t h = 0; h < gates[l].size(); ++h) {
        const float at = gates[l][h], step = 0.01f;
        gates[l][h] = at + step;
        const double up = GatedLoss(tiny, golden, gates, of_model).value;
        gates[l][h] = at - step;
        const double down = GatedLoss(tiny, golden, gates, of_model).value;
        gates[l][h] = at;
        const double slope = (up - down) / (2 * static_cast<double>(step));
        EXPECT_NEAR(loss.gated.gradient()[l][h], slope, 0.01 * std::abs(slope)) << l << " " << h;
      }
    }
  }
}

TEST(Gated, WithAllGatesOpenItIsTheModelAndHasNoGradient) {
  const Tiny tiny("llama_llama3");
  const json golden = golden_of("llama_llama3");
  Gates gates = golden["gates"];
  for (auto& layer : gates) std::ranges::fill(layer, 1.0f);
  GatedLoss loss(tiny, golden, gates, true);
  loss.backward();
  EXPECT_EQ(loss.value, 0);
  for (const auto& layer : loss.gated.gradient()) {
    for (const float slope : layer) EXPECT_EQ(slope, 0);
  }
}

}  // namespace
}  // namespace longhaul
