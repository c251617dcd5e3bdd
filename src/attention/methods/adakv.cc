// AdaKV (Feng et al. 2024): the heads of a layer share their budget. Another method scores the
// rows. Each head keeps a guaranteed share, and the rest of the budget goes to the highest scores
// of the layer, in any head (docs/methods/adakv.md).

#include "attention/parts/wrapped_method.h"

namespace longhaul {
namespace {

struct AdaKv final : WrappedMethod {
  std::string_view method = "snapkv";
  std::string method_options;
  double safeguard = 0.2;
  void declare(OptionList& o) {
    o.choice(method, "method", {"snapkv", "pyramidkv", "keydiff", "expectedattention"},
             "whose scores and budget are dealt");
    o.part_options(method_options, "method_options", "method",
                   "options of that method, joined by +: capacity=1024+window=16");
    o.real(safeguard, "safeguard", 0, 1, "share",
           "of its budget that every head keeps for sure, its window and sinks among it");
  }
  void fit(const ModelShape& shape) {
    wrap(MethodSpec::parse_part(method, method_options).make_method(shape));
  }

  Plan plan(int layer, int kv_head, int64_t tokens) const override {
    Plan plan = WrappedMethod::plan(layer, kv_head, tokens);
    plan.keep.sure_share = safeguard;
    return plan;
  }
};

}  // namespace

MethodInfo adakv_method() {
  MethodInfo info = method_info<AdaKv>({.name = "adakv"});
  info.summary = "deals a layer's budget over its heads by the scores of another method";
  info.when = "as the method whose scores it deals, at small budgets";
  info.keeps =
      "of each prompt as many rows as that method, more in heads whose attention is spread";
  info.harms = "what that method harms; heads with low scores keep little more than their window";
  info.paper =
      "Ada-KV: Optimizing KV Cache Eviction by Adaptive Budget Allocation, arXiv 2407.11550";
  info.covers = {"", "method=keydiff"};
  info.small = {{"method_options=capacity=60+window=8", kNoBound, true},
                {"method_options=capacity=24+window=8", kNoBound, true},
                {"method=keydiff,method_options=capacity=24,safeguard=0.5", kNoBound, true}};
  return info;
}

}  // namespace longhaul
