// TOVA (Oren et al. 2024): a layer keeps a fixed number of tokens, the same for all heads. The
// tokens with the lowest attention from the newest query, averaged over the heads, are evicted. No
// token is protected, not even the newest one or the first ones. The variant `easykv` follows
// another published code, which evicts only during prefill and protects sinks and recent tokens.

#include "attention/parts/stride_budget.h"

namespace longhaul {
namespace {

struct Tova final : Method, StrideBudget {
  enum class Mode : uint8_t { kOfficial, kEasyKv };
  Mode mode = Mode::kOfficial;
  void declare(OptionList& o) {
    const auto easykv = [this] { return mode == Mode::kEasyKv; };
    o.choice(mode, "mode", {"official", "easykv"},
             "evict to the capacity also while generating; or only in prompts, protecting sink and "
             "recent");
    o.integer(budget, "capacity", 1, 1 << 24, "tokens",
              "rows that every head of a layer keeps; mode=easykv: up to capacity + stride after "
              "a prompt");
    o.integer(
        stride, "stride", 1, 1 << 20, "tokens",
        "prompt tokens between two evictions; 1 is the published rule, generated tokens always "
        "use it");
    o.integer(sink, "sink", 0, 4096, "tokens", "first rows, never evicted")
        .only(easykv, "mode=easykv", "mode");
    o.integer(recent, "recent", 0, 1 << 20, "tokens",
              "last rows, never evicted; auto: a tenth of capacity + stride")
        .only(easykv, "mode=easykv", "mode");
    o.choice(positions, "positions", {"absolute", "cache"}, kPositions)
        .only(easykv, "mode=easykv", "mode");
  }

  void fit(const ModelShape&) {
    whole = stride_plan();
    if (mode == Mode::kOfficial) {
      whole.whole_strides = false;
      whole.every_token = whole.rewinds = true;
    }
    whole.chooser = Chooser::kLayer;
    whole.observation_window = 1;
    whole.keeps_received = true;
  }
  ListPlan plan(int, int, int64_t) const override {
    return mode == Mode::kEasyKv ? list_plan() : ListPlan{.keep = {.budget = budget}};
  }
};

}  // namespace

MethodInfo tova_method() {
  MethodInfo info = method_info<Tova>({.name = "tova"});
  info.summary =
      "keeps the tokens that the newest query attends to, the same in all heads of a layer";
  info.when = "long generation in constant memory";
  info.keeps =
      "the rows that the newest query attends to most, the same in all heads of a layer; the rest "
      "is gone for good";
  info.harms =
      "what is needed again after one query in between did not look at it; a question at the end "
      "of a long document";
  info.paper = "Transformers are Multi-State RNNs, arXiv 2401.06104";
  info.covers = {"", "mode=easykv", "mode=easykv,positions=cache"};
  info.small = {{"capacity=60,stride=20"},
                {"mode=easykv,capacity=60,stride=20"},
                {"mode=easykv,capacity=60,stride=20,positions=cache", 100},
                {"capacity=24,stride=8"},
                {"mode=easykv,capacity=24,stride=8,sink=2,recent=4"}};
  return info;
}

}  // namespace longhaul
