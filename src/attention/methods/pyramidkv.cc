// PyramidKV (Cai et al. 2024): SnapKV's choice with a budget that falls from the first layer to the
// last, because attention spreads in low layers and gathers in high ones.

#include "attention/parts/observation_window.h"
#include "ops/pyramid_budget.h"

namespace longhaul {
namespace {

class PyramidKv final : public Method {
 public:
  struct Options : ObservationWindow {
    Options() : ObservationWindow{.window = 8, .kernel = 7, .pooling = Pooling::kMax} {}
    int64_t capacity = 2048, beta = 20;
    void declare(OptionList& o) {
      o.integer(capacity, "capacity", 2, 1 << 24, "tokens",
                "rows that a head keeps of a prompt, on average over the layers");
      declare_window(o);
      o.integer(beta, "beta", 1, 1000, "", "the last layer keeps about 1/beta of the average");
      declare_per(o);
    }
  };
  PyramidKv(const Options& options, const ModelShape& shape)
      : o_(options), pyramid_{shape.layers, o_.capacity, o_.window, o_.beta} {
    o_.check("pyramidkv", o_.capacity);
  }

  Plan plan(int layer, int, int64_t tokens) const override {
    return o_.plan(pyramid_.kept(layer, tokens));
  }
  void score(const Cut& cut) override { o_.score(cut); }

 private:
  Options o_;
  PyramidBudget pyramid_;
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
