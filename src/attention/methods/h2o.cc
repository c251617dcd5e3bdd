// H2O (Zhang et al. 2023): the attention that each stored row receives from all queries is summed.
// The rows with the largest sums and the most recent rows are kept. The mode `stream` evicts rows
// during prefill, so that memory is limited, and `oneshot` evicts them after prefill. Each KV head
// selects its own rows.

#include "attention/parts/stride_budget.h"

namespace longhaul {
namespace {

constexpr std::string_view kH2oColumns[] = {"attention"};
constexpr int64_t kRecentOfOneShot = 32;

struct H2o final : Method, StrideBudget {
  enum class Mode : uint8_t { kStream, kOneShot };
  Mode mode = Mode::kStream;
  void declare(OptionList& o) {
    const auto streams = [this] { return mode == Mode::kStream; };
    o.choice(mode, "mode", {"stream", "oneshot"}, "evict during prefill, or once after it");
    o.integer(budget, "budget", 1, 1 << 24, "tokens", "rows that a head keeps");
    o.integer(stride, "stride", 1, 1 << 20, "tokens", kStride).only(streams, "mode=stream", "mode");
    o.integer(sink, "sink", 0, 4096, "tokens", "first rows, never evicted")
        .only(streams, "mode=stream", "mode");
    o.integer(recent, "recent", 0, 1 << 20, "tokens",
              "last rows, never evicted; auto: a tenth of budget + stride, or 32 with "
              "mode=oneshot");
    o.choice(positions, "positions", {"absolute", "cache"}, kPositions)
        .only(streams, "mode=stream", "mode");
  }

  void fit(const ModelShape&) {
    whole = stride_plan();
    if (mode == Mode::kOneShot) whole = {.place = whole.place, .when = When::kPromptEnd};
    whole.columns = kH2oColumns;
  }
  ListPlan plan(int, int, int64_t) const override {
    if (mode == Mode::kStream) return list_plan();
    return {.keep = {.budget = budget, .recent = recent.value_or(kRecentOfOneShot)}};
  }
};

}  // namespace

MethodInfo h2o_method() {
  MethodInfo info = method_info<H2o>({.name = "h2o"});
  info.summary =
      "keeps the keys to which all queries together gave most attention, and recent ones";
  info.when = "long prompts in constant memory, where what matters is looked at all along";
  info.keeps =
      "the rows that got most attention from all queries so far, and recent ones; the rest is gone "
      "for good";
  info.harms =
      "a fact that is mentioned once and asked for at the end: by then its sum is small. Counting "
      "costs a second pass over the keys";
  info.paper =
      "H2O: Heavy-Hitter Oracle for Efficient Generative Inference of LLMs, "
      "arXiv 2306.14048";
  info.covers = {"", "mode=oneshot", "positions=cache"};
  info.small = {{"budget=60,stride=20"},
                {"budget=60,stride=20,positions=cache", 100},
                {"mode=oneshot,budget=60"},
                {"budget=24,stride=8,sink=2,recent=4"},
                {"mode=oneshot,budget=24,recent=4"}};
  return info;
}

}  // namespace longhaul
