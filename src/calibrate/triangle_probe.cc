#include "calibrate/triangle_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/nth.h"
#include "engine/prompt_tokens.h"
#include "eval/random.h"
#include "ops/dequantize.h"
#include "ops/linear.h"
#include "training/gated_attention.h"

namespace longhaul {
namespace {

struct ProbePrompt {
  std::vector<int32_t> tokens;
  int32_t wanted = 0;  ///< the first token of the value that says something
};

struct Line {
  std::string key, value;
};

std::string prompt_of(const std::vector<Line>& lines, const std::string& key) {
  std::string text =
      "Extract the value corresponding to the specified key in the data below.\n\nData:\n";
  for (const Line& line : lines) text += fmt::format("{}: {}\n", line.key, line.value);
  return text + fmt::format(
                    "\nExtract the value corresponding to this key:\nkey: {}\n\nPlease directly "
                    "output the corresponding value without outputting anything else.\nvalue:",
                    key);
}

/// A key-value prompt (section 3 of the paper) of at most `tokens` tokens.
class ProbePrompts {
 public:
  ProbePrompts(const Tokenizer& tokenizer, const TriangleProbe& probe)
      : tokenizer_(tokenizer), probe_(probe) {}

  ProbePrompt make(int index) const {
    Random random("triangle-probe", probe_.seed, probe_.tokens, index);
    std::vector<Line> lines;
    const auto add = [&](int64_t count) {
      while (static_cast<int64_t>(lines.size()) < count) {
        Line line{random.uuid(), random.uuid()};
        lines.push_back(std::move(line));
      }
    };
    add(4);
    const auto count = [&](std::span<const Line> some) {
      return tokens_of({some.begin(), some.end()}, lines[0].key, "").size();
    };
    const double fixed = static_cast<double>(count({})), four = static_cast<double>(count(lines));
    const double each = (four - fixed) / 4;
    const auto fit = static_cast<int64_t>((static_cast<double>(probe_.tokens) - fixed) / each);
    if (fit < 2) {
      user_error("--tokens {}: a prompt with two lines takes {} tokens", probe_.tokens,
                 std::lround(fixed + 2 * each));
    }
    lines.resize(std::min<size_t>(lines.size(), static_cast<size_t>(fit)));
    add(fit);
    const Line asked = random.pick(lines);
    ProbePrompt prompt;
    prompt.tokens = tokens_of(lines, asked.key, "");
    const std::vector<int32_t> whole = tokens_of(lines, asked.key, " " + asked.value);
    size_t at =
        static_cast<size_t>(std::ranges::mismatch(prompt.tokens, whole).in2 - whole.begin());
    // A blank that is a token of its own asks nothing.
    if (at + 1 < whole.size() && tokenizer_.piece(whole[at]) == " ") ++at;
    LH_ASSERT(at < whole.size());
    prompt.wanted = whole[at];
    prompt.tokens.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(at));
    return prompt;
  }

 private:
  std::vector<int32_t> tokens_of(const std::vector<Line>& lines, const std::string& key,
                                 const std::string& reply) const {
    const std::string text = prompt_of(lines, key);
    if (!probe_.chat) return prompt_tokens(tokenizer_, bare_prompt(text + reply, false), "").tokens;
    const ChatMessage message{ChatRole::user, text};
    return prompt_tokens(tokenizer_, chat_prompt(*probe_.chat, std::span(&message, 1), reply), "")
        .tokens;
  }

  const Tokenizer& tokenizer_;
  const TriangleProbe& probe_;
};

/// Full attention whose backward pass adds up the regions of every layer.
class ProbedAttention final : public AttentionRule {
 public:
  ProbedAttention(const FrozenDecoder& decoder, AttendCompute compute, const ProbedRegions& regions,
                  std::vector<LayerGradients>& sums)
      : decoder_(decoder), full_(decoder, compute, false), regions_(regions), sums_(sums) {}

  void forward(int layer, const AttentionRows& rows, float* mixed) override {
    full_.forward(layer, rows, mixed);
  }
  void backward(int layer, const AttentionRows& rows, const float* d_mixed,
                const AttentionRowGradients& d) override {
    full_.backward(layer, rows, d_mixed, d);
    const TextAttention shape = decoder_.causal(layer);
    if (shape.window < shape.tokens) return;  // the model's own window: no triangle either
    const RegionSums found = attention_regions(
        shape, {rows.q, rows.k, rows.v, nullptr, full_.lse().data(), d_mixed}, regions_);
    LayerGradients& sum = nth(sums_, layer);
    add_mean(found.streaming, pairs(shape, 0), sum.streaming);
    add_mean(found.last, pairs(shape, 1), sum.last);
    add_mean(found.middle, pairs(shape, 2), sum.middle);
  }

 private:
  /// Pairs of a region and all query heads: 0 streaming, 1 last, 2 middle.
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

/// The likeliest token behind a row, and the output matrix's row of the wanted one.
int32_t likeliest(const Model& model, const float* normed, Compute compute) {
  LinearInput input;
  input.assign(normed, 1, model.config.hidden);
  std::vector<float> logits(static_cast<size_t>(model.config.vocab));
  const LowRank* beside = model.head_adapter.empty() ? nullptr : &model.head_adapter;
  linear(input, {.weight = model.head, .y = logits.data(), .low_rank = beside}, compute);
  return static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin());
}

/// Row `token` of the output matrix with its adapter: the gradient of that logit.
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

/// Adds a prompt's means; whether its likeliest token was the wanted one.
bool probe_prompt(const Model& model, FrozenDecoder& decoder, const ProbePrompt& prompt,
                  const TriangleProbe& probe, std::vector<LayerGradients>& sums) {
  const int64_t hidden = model.config.hidden;
  const auto last = (static_cast<int64_t>(prompt.tokens.size()) - 1) * hidden;
  ProbedAttention attention(
      decoder, probe.compute == Compute::kF32 ? AttendCompute::kF32 : AttendCompute::kBest,
      probe.regions, sums);
  const float* states = decoder.forward(prompt.tokens, attention, true);
  std::vector<float> normed(static_cast<size_t>(hidden));
  decoder.final_norm(states + last, 1, normed.data());
  const bool right = likeliest(model, normed.data(), probe.compute) == prompt.wanted;
  std::vector<float> d(prompt.tokens.size() * static_cast<size_t>(hidden));
  decoder.final_norm_backward(states + last, head_row(model, prompt.wanted).data(), 1,
                              d.data() + last);
  decoder.backward(attention, d.data());
  return right;
}

void divide(PairSums& sums, double by) {
  sums.sum /= by;
  sums.magnitude /= by;
}

}  // namespace

ProbedLayers probe_layers(const std::shared_ptr<const Engine>& engine, const TriangleProbe& probe) {
  const Model& model = engine->model();
  FrozenDecoder decoder(model, probe.compute);
  const ProbePrompts prompts(engine->tokenizer(), probe);
  ProbedLayers found;
  found.layers.resize(static_cast<size_t>(model.config.layers));
  while (found.asked < probe.prompts && !requested(probe.cancel)) {
    const ProbePrompt prompt = prompts.make(found.asked);
    engine->check_known(prompt.tokens);
    found.right += probe_prompt(model, decoder, prompt, probe, found.layers) ? 1 : 0;
    found.tokens += static_cast<int64_t>(prompt.tokens.size());
    ++found.asked;
    if (probe.progress) probe.progress(found.asked, probe.prompts);
  }
  for (LayerGradients& layer : found.layers) {
    for (PairSums* sums : {&layer.streaming, &layer.last, &layer.middle}) {
      divide(*sums, std::max(1, found.asked));
    }
  }
  return found;
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
