// PyramidKV (Cai et al. 2024): SnapKV with a number of kept rows that decreases from the first to
// the last layer. The reason is that attention is distributed over many keys in the first layers,
// and concentrated on few keys in the last ones.

#include "attention/methods/pyramidkv/pyramid_budget.h"
#include "attention/parts/observation_window.h"

namespace longhaul {
namespace {

struct PyramidKv final : Method, ObservationWindow {
  PyramidKv() : ObservationWindow{.window = 8, .kernel = 7, .pooling = Pooling::kMax} {}
  int64_t capacity = 2048, beta = 20;
  PyramidBudget pyramid;
  void declare(OptionList& o) {
    o.integer(capacity, "capacity", 2, 1 << 24, "tokens",
              "rows that a head keeps of a prompt, on average over the layers");
    declare_window(o);
    o.integer(beta, "beta", 1, 1000, "", "the last layer keeps about 1/beta of the average");
    declare_per(o);
  }
  void fit(const ModelShape& shape) {
    check_window("pyramidkv", capacity);
    whole = window_plan();
    whole.by_length = true;
    pyramid = {shape.layers, capacity, window, beta};
  }

  ListPlan plan(int layer, int, int64_t tokens) const override {
    return list_plan(pyramid.kept(layer, tokens));
  }
  void choose(const Eviction& due) override { pool_votes(due); }
};

}  // namespace

MethodInfo pyramidkv_method() {
  MethodInfo info = method_info<PyramidKv>({.name = "pyramidkv"});
  info.summary = "keeps what the last queries of the prompt attend to, more in low layers";
  info.when = "as snapkv, at small budgets";
  info.keeps =
      "as snapkv, with more rows in low layers and fewer in high ones; the rest is gone for good";
  info.harms =
      "what snapkv harms, and models whose high layers need many keys. Reading costs as much as "
      "dense";
  info.paper =
      "PyramidKV: Dynamic KV Cache Compression based on Pyramidal Information Funneling, "
      "arXiv 2406.02069";
  info.covers = {""};
  info.small = {{"capacity=60,window=8"}, {"capacity=24,window=8"}};
  return info;
}

}  // namespace longhaul
