#include "calibrate/triangle_probe.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/nth.h"
#include "calibrate/asked_sample.h"
#include "calibrate/state_file.h"
#include "calibrate/triangle_prompt.h"
#include "ops/core/fill.h"
#include "ops/matmul/dequantize.h"
#include "ops/matmul/linear.h"
#include "training/gated_attention.h"

namespace longhaul {
namespace {

/// Full attention whose backward pass sums the regions of every layer.
class ProbedAttention final : public AttentionRule {
 public:
  ProbedAttention(const FrozenDecoder& decoder, AttendCompute compute, const ProbedRegions& regions,
                  std::vector<LayerGradients>& sums)
      : decoder_(decoder), full_(decoder, compute, false), regions_(regions), sums_(sums) {}

  void forward(int layer, const AttentionRows& rows, View<float> mixed) override {
    full_.forward(layer, rows, mixed);
  }
  void backward(int layer, const AttentionRows& rows, View<const float> d_mixed,
                const AttentionRowGradients& d) override {
    full_.backward(layer, rows, d_mixed, d);
    const TextAttention shape = decoder_.causal(layer);
    // a layer with the model's own window gets no triangle
    if (shape.window < shape.tokens) return;
    const RegionSums found = attention_regions(
        decoder_.queue(), shape, {rows.q, rows.k, rows.v, {}, full_.lse(), d_mixed}, regions_);
    LayerGradients& sum = nth(sums_, layer);
    add_mean(found.streaming, pairs(shape, 0), sum.streaming);
    add_mean(found.last, pairs(shape, 1), sum.last);
    add_mean(found.middle, pairs(shape, 2), sum.middle);
  }

 private:
  /// Number of pairs in a region for all query heads: 0 streaming, 1 last, 2 middle.
  double pairs(const TextAttention& shape, int region) const {
    double count = 0;
    for (int64_t row = 0; row < shape.tokens; ++row) {
      const int64_t sinks = std::min(regions_.sink, row) + 1;
      const int64_t rest = std::max<int64_t>(0, row - regions_.window - sinks);
      const int of_rest = row >= shape.tokens - regions_.last ? 1 : 2;
      if (region == 0) count += static_cast<double>(row + 1 - rest);
      if (region == of_rest) count += static_cast<double>(rest);
    }
    return count * shape.heads;
  }
  static void add_mean(const PairSums& sums, double pairs, PairSums& to) {
    to.sum += sums.sum / std::max(1.0, pairs);
    to.magnitude += sums.magnitude / std::max(1.0, pairs);
  }

  const FrozenDecoder& decoder_;
  FullAttention full_;
  ProbedRegions regions_;
  std::vector<LayerGradients>& sums_;
};

/// The most likely token after a row.
int32_t likeliest(const Model& model, const float* normed, Compute compute) {
  LinearInput input;
  input.assign(normed, 1, model.config.hidden);
  std::vector<float> logits(static_cast<size_t>(model.config.vocab));
  const LowRank* beside = model.head_adapter.empty() ? nullptr : &model.head_adapter;
  linear(input, {.weight = model.head, .y = logits.data(), .low_rank = beside}, compute);
  return static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin());
}

/// Row `token` of the output matrix including its adapter: the gradient of that logit.
std::vector<float> head_row(const Model& model, int32_t token) {
  const auto hidden = static_cast<size_t>(model.config.hidden);
  std::vector<float> row(hidden);
  dequantize_row(model.head.type, model.head.row(token), model.config.hidden, row.data());
  const LowRank& adapter = model.head_adapter;
  if (adapter.empty()) return row;
  std::vector<float> b(static_cast<size_t>(adapter.rank())), a(hidden);
  dequantize_row(adapter.b.type, adapter.b.row(token), adapter.rank(), b.data());
  for (size_t r = 0; r < b.size(); ++r) {
    dequantize_row(adapter.a.type, adapter.a.row(static_cast<int64_t>(r)), model.config.hidden,
                   a.data());
    for (size_t i = 0; i < hidden; ++i) row[i] += adapter.scale[r] * b[r] * a[i];
  }
  return row;
}

/// Adds a prompt's means. Returns whether its most likely token was the expected one.
bool probe_prompt(const Model& model, FrozenDecoder& decoder, const TrianglePrompt& prompt,
                  const TriangleProbe& probe, std::vector<LayerGradients>& sums) {
  const int64_t hidden = model.config.hidden;
  const auto last = (static_cast<int64_t>(prompt.tokens.size()) - 1) * hidden;
  ProbedAttention attention(
      decoder, probe.compute == Compute::kF32 ? AttendCompute::kF32 : AttendCompute::kBest,
      probe.regions, sums);
  const View<const float> state = decoder.forward(prompt.tokens, attention, true).from(last);
  std::vector<float> normed(static_cast<size_t>(hidden));
  decoder.final_norm(state, 1, normed.data());
  const bool right = likeliest(model, normed.data(), probe.compute) == prompt.wanted;
  Array<float> d;
  fill(decoder.queue(), d.resize(decoder.queue(), last + hidden), 0);
  decoder.final_norm_backward(state, head_row(model, prompt.wanted).data(), 1, d.view().from(last));
  decoder.backward(attention, d.view());
  return right;
}

/// Calls act for every layer's sums, in a fixed order.
template <class Layers, class Do>
void for_each_sum(Layers& layers, Do&& act) {
  for (auto& layer : layers) {
    for (auto* sums : {&layer.streaming, &layer.last, &layer.middle}) {
      act(sums->sum);
      act(sums->magnitude);
    }
  }
}

}  // namespace

TriangleSearch::TriangleSearch(std::shared_ptr<const Engine> engine, const TriangleProbe& probe)
    : engine_(std::move(engine)),
      probe_(probe),
      decoder_(probe.queue.on_host() ? FrozenDecoder(engine_->model(), probe.compute)
                                     : FrozenDecoder(engine_->on_device(probe.queue))) {
  sums_.layers.resize(static_cast<size_t>(engine_->model().shape.layers));
}

bool TriangleSearch::advance(const CancelFlag* cancel) {
  if (requested(cancel)) return false;
  const TrianglePrompt prompt = triangle_prompt(
      {&engine_->tokenizer(), probe_.chat, probe_.seed, probe_.tokens}, sums_.asked);
  engine_->check_known(prompt.tokens);
  const bool right = probe_prompt(engine_->model(), decoder_, prompt, probe_, sums_.layers);
  sums_.right += right ? 1 : 0;
  sums_.tokens += static_cast<int64_t>(prompt.tokens.size());
  ++sums_.asked;
  return true;
}

ProbedLayers TriangleSearch::found() const {
  ProbedLayers means = sums_;
  for_each_sum(means.layers, [&](double& sum) { sum /= std::max(1, means.asked); });
  return means;
}

double TriangleSearch::tokens_left() const {
  constexpr double kMore = 4;  // forward twice, and backward
  return kMore * static_cast<double>(probe_.tokens * (total() - done()));
}

std::string TriangleSearch::settings_text() const {
  return fmt::format("model {:016x}, tokens {}, seed {}, compute {}, regions {} {} {}, chat {}",
                     engine_->fingerprint(), probe_.tokens, probe_.seed, name_of(probe_.compute),
                     probe_.regions.sink, probe_.regions.window, probe_.regions.last,
                     chat_text(probe_.chat));
}

void TriangleSearch::save(const std::filesystem::path& file) const {
  std::vector<double> sums;
  for_each_sum(sums_.layers, [&](const double& sum) { sums.push_back(sum); });
  write_state(
      file, {"trianglemix", settings_text()},
      {{"asked", sums_.asked}, {"right", sums_.right}, {"tokens", sums_.tokens}, {"sums", sums}});
}

void TriangleSearch::restore(const std::filesystem::path& file) {
  const auto state = read_state(file, {"trianglemix", settings_text()});
  ProbedLayers sums = sums_;
  sums.asked = static_cast<int>(state_integer(state, "asked", total(), file));
  sums.right = static_cast<int>(state_integer(state, "right", sums.asked, file));
  sums.tokens = state_integer(state, "tokens", int64_t{1} << 50, file);
  const auto count = static_cast<int64_t>(6 * sums.layers.size());
  const std::vector<double> numbers = state_numbers(state, "sums", count, file);
  size_t at = 0;
  for_each_sum(sums.layers, [&](double& sum) { sum = numbers[at++]; });
  sums_ = std::move(sums);
}

std::vector<int> rank_layers(const ProbedLayers& found, const ModelShape& shape, bool magnitudes) {
  std::vector<int> layers;
  for (int layer = 0; layer < shape.layers; ++layer) {
    const bool ranked = !magnitudes || layer + 1 < shape.layers;
    if (ranked && shape.own_window(layer) == 0) layers.push_back(layer);
  }
  std::ranges::stable_sort(layers, {}, [&](int layer) {
    const PairSums& middle = nth(found.layers, layer).middle;
    return magnitudes ? middle.magnitude : middle.sum;
  });
  return layers;
}

}  // namespace longhaul
