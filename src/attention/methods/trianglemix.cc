// TriangleMix (docs/methods/trianglemix.md): some layers, usually the first ones, have dense
// attention, and the others have triangle attention during prefill. In a triangle layer, query rows
// see the first rows (sinks) and a window. Only the last rows of the prompt see all earlier rows.
// All rows are kept, and decode is dense. The dense layers may use another method for the prefill,
// which must keep all rows.

#include <algorithm>

#include "attention/parts/planned_attention.h"
#include "attention/parts/wrapped_method.h"
#include "base/error.h"
#include "base/nth.h"
#include "base/parse_number.h"

namespace longhaul {
namespace {

struct TriangleOptions {
  int64_t sink = 8, window = 512, last = 128;
  void declare(OptionList& o) {
    o.integer(sink, "sink", 0, 1 << 20, "tokens", "first tokens, seen by every row");
    o.integer(window, "window", 1, 1 << 24, "tokens",
              "last tokens that a row sees, itself among them");
    o.integer(last, "last", 0, 1 << 24, "tokens",
              "rows at the end of a prompt that see everything");
  }
};

struct MixOptions : TriangleOptions, PromptReader {
  std::optional<int64_t> start_layer, triangle_layers;
  std::string layers, ranking;
  void declare(OptionList& o) {
    TriangleOptions::declare(o);
    o.integer(start_layer, "start_layer", 0, 1 << 16, "",
              "first triangle layer, counted from 0; auto: half of the layers");
    o.text(layers, "layers", "",
           "the triangle layers, LAYER/LAYER/...; none: all from start_layer on")
        .only([this] { return !start_layer; }, "no start_layer", "start_layer");
    o.text(ranking, "ranking", "",
           "layers in the order in which they become triangles, LAYER/LAYER/..., as 'longhaul "
           "calibrate' finds it")
        .only([this] { return layers.empty() && !start_layer; }, "no layers and no start_layer",
              "layers|start_layer")
        .later = true;
    o.integer(triangle_layers, "triangle_layers", 0, 1 << 16, "",
              "how many of them are triangles; auto: half of the model's layers")
        .only([this] { return !ranking.empty(); }, "ranking", "ranking")
        .later = true;
    declare_dense(o, "prefill of the other layers");
    declare_dense_options(o, "options of that method, joined by +: gamma=0.9+min_budget=1024");
  }
};

/// Returns flags [layers] of the first `count` layers that the option `key` names. Throws UserError
/// if a layer does not exist in the model or is named twice.
std::vector<bool> named_layers(std::string_view key, const std::string& names, int64_t count,
                               const ModelShape& shape) {
  std::vector<bool> named(static_cast<size_t>(shape.layers)), chosen = named;
  for (const std::string_view value : split_values(names)) {
    int layer = -1;
    if (!parse_number(value, layer) || layer < 0 || layer >= shape.layers) {
      user_error("--attention trianglemix: {}: '{}' must be a layer of the model, 0 to {}", key,
                 value, shape.layers - 1);
    }
    if (nth(named, layer)) {
      user_error("--attention trianglemix: {}={}: layer {} is named twice", key, names, layer);
    }
    nth(named, layer) = true;
    if (count-- > 0) nth(chosen, layer) = true;
  }
  if (count > 0) {
    user_error("--attention trianglemix: triangle_layers: {} more than the ranking has", count);
  }
  return chosen;
}

/// Returns flags [layers] of the triangle layers: the named layers, or the first layers of a
/// ranking (which the paper computes from gradients), or all layers from a start layer on (as in
/// the published code).
std::vector<bool> chosen_layers(const MixOptions& o, const ModelShape& shape) {
  if (!o.layers.empty()) {
    const auto count = static_cast<int64_t>(split_values(o.layers).size());
    return named_layers("layers", o.layers, count, shape);
  }
  if (!o.ranking.empty() && !o.start_layer) {
    return named_layers("ranking", o.ranking, o.triangle_layers.value_or(shape.layers / 2), shape);
  }
  std::vector<bool> triangle(static_cast<size_t>(shape.layers));
  const int64_t start = o.start_layer.value_or(shape.layers / 2);
  if (start > shape.layers) {
    user_error("--attention trianglemix: start_layer={}: must be from 0 to {}, the model's layers",
               start, shape.layers);
  }
  std::fill(triangle.begin() + start, triangle.end(), true);
  return triangle;
}

/// Creates the inner method of the dense layers, with the paper's settings as defaults.
std::unique_ptr<Method> make_other(const MixOptions& o, const ModelShape& shape) {
  MethodSpec other = o.spec();
  if (o.dense == "flexprefill") other.set_default("gamma", "0.95");
  if (o.dense == "xattention") other.set_default("tau", "0.95");
  return other.make_method(shape);
}

struct TriangleMix : WrappedMethod, MixOptions {
  void fit(const ModelShape& shape) {
    triangle_ = chosen_layers(*this, shape);
    wrap(make_other(*this, shape));
    whole.rewinds = false;
    for (size_t layer = 0; layer < triangle_.size(); ++layer) {
      if (shape.window[layer] > 0) triangle_[layer] = false;
    }
  }

  /// Returns the rules of the inner method, with less visibility in triangle layers. In layers with
  /// a sliding window of the model itself, the rules are unchanged.
  ListPlan plan(int layer, int kv_head, int64_t tokens) const override {
    ListPlan plan = WrappedMethod::plan(layer, kv_head, tokens);
    if (!nth(triangle_, layer)) return plan;
    plan.see.sink = sink;
    plan.see.window = window;
    plan.see.strict = true;
    plan.see.dense_rows = last;
    return plan;
  }

  void attend(LayerStep& step) override {
    if (!nth(triangle_, step.layer)) return WrappedMethod::attend(step);
    attend_by_plan(step);
  }

 private:
  std::vector<bool> triangle_;  // [layers]
};

/// The method `triangle`: TriangleMix with triangle attention in every layer.
struct Triangle final : TriangleMix {
  void declare(OptionList& o) { TriangleOptions::declare(o); }
  void fit(const ModelShape& shape) {
    start_layer = 0;
    TriangleMix::fit(shape);
  }
};

constexpr std::string_view kPaper =
    "TriangleMix: Accelerating Prefilling via Decoding-time Contribution Sparsity, 2025";

}  // namespace

MethodInfo trianglemix_method() {
  MethodInfo info = method_info<TriangleMix>({.name = "trianglemix", .paper = kPaper});
  info.summary = "keeps every key; in upper layers only a prompt's last rows see all of them";
  info.when = "faster prefill of long prompts within the trained length, answers nearly as dense";
  info.keeps =
      "every key and value; in upper layers rows in the middle of a prompt see only the first and "
      "the recent tokens";
  info.harms =
      "prompts whose middle must look far back in upper layers: chains of variables, repeated "
      "passages";
  info.covers = {"window=700", "window=700,layers=0", "sink=700,window=1,last=0",
                 "window=1,last=700,start_layer=0",
                 "window=700,dense=xattention,dense_options=tau=1+dense_below=0"};
  info.small = {{"start_layer=1,window=60"},
                {"sink=2,window=8,last=4"},
                {"window=16,last=64,dense=xattention,dense_options=dense_below=0"}};
  return info;
}

MethodInfo triangle_method() {
  MethodInfo info = method_info<Triangle>({.name = "triangle", .paper = kPaper});
  info.summary = "keeps every key; in all layers only a prompt's last rows see all of them";
  info.when = "fastest prefill; loses what must be combined from distant places";
  info.keeps =
      "every key and value; in all layers rows in the middle of a prompt see only the first and "
      "the recent tokens";
  info.harms =
      "all that must be combined from distant places of the prompt; trianglemix loses far less";
  info.covers = {"window=700", "sink=700,window=1,last=0"};
  info.small = {{"window=60"}, {"sink=2,window=8,last=4"}};
  return info;
}

}  // namespace longhaul
