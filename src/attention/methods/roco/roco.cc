// RoCo (Ren and Zhu 2024; docs/methods/roco.md): among the stored rows whose received attention
// varies least between query rows, those with the lowest average are evicted. Rows to which only
// some query rows attend strongly are kept. Each KV head selects its own rows, during prefill.

#include <algorithm>

#include "attention/methods/roco/steady_scores.h"
#include "attention/parts/planned_attention.h"
#include "attention/parts/stride_budget.h"
#include "base/nth.h"

namespace longhaul {
namespace {

constexpr std::string_view kRocoColumns[] = {"attention", "squares", "seen"};
constexpr int64_t kSettling = 10;  // number of newest rows, which too few rows have seen

struct Roco final : Method, StrideBudget {
  void declare(OptionList& o) {
    o.integer(budget, "budget", 1, 1 << 24, "tokens", "rows that a head keeps");
    o.integer(stride, "stride", 1, 1 << 20, "tokens", kStride);
    o.integer(sink, "sink", 0, 4096, "tokens", "first rows, never evicted");
    o.integer(recent, "recent", 0, 1 << 20, "tokens",
              "rows, besides the sinks, whose attention may vary too much to be judged; auto: a "
              "tenth of budget + stride. The last 10 never leave");
    o.choice(positions, "positions", {"absolute", "cache"}, kPositions);
  }
  void fit(const ModelShape&) {
    expect_room("roco", budget, sink, recent_rows(), "budget");
    whole = stride_plan();
    whole.columns = kRocoColumns;
  }

  ListPlan plan(int, int, int64_t) const override {
    return {.keep = {.budget = budget}};  // choose() protects the first and the last rows itself
  }

  /// Updates three columns of the stored rows: the attention received from query rows, summed over
  /// the query heads of the KV head; the sum of the squares of these numbers; and the number of
  /// query rows that saw the stored row. The published code uses the mean over the query heads,
  /// which differs by a constant factor and gives the same order.
  void observe(LayerStep& step) override {
    targets_.clear();
    seen_.clear();
    for (int head = 0; head < step.kv_heads; ++head) {
      const auto column = [&](size_t c) {
        return step.store->column(step.layer, head, kRocoColumns[c]);
      };
      seen_.push_back(column(2));
      targets_.push_back({column(0), column(1)});
    }
    add_seen(*step.queue, step.rows, seen_);
    add_attention(step, {}, targets_);
  }

  void choose(const Eviction& due) override {
    lists_.clear();
    for (int head = 0; head < due.lists; ++head) {
      const int64_t leaving = due.rows(head) - due.kept;
      // EasyKV's number of feasible rows, without the recent rows and the sinks.
      const int64_t feasible = budget + stride - recent_rows() - sink;
      const SteadyRule rule{.sink = sink,
                            .settling = std::min(due.rows(head) - sink - leaving, kSettling),
                            .feasible = std::max(feasible, leaving)};
      lists_.push_back({{due.column(head, 0), due.column(head, 1), due.column(head, 2)},
                        rule,
                        nth(due.scores, head)});
    }
    steady_scores(due.queue, lists_, steadiness_);
  }

 private:
  std::vector<ColumnTarget> targets_;
  std::vector<View<float>> seen_;
  std::vector<SteadyList> lists_;
  Array<float> steadiness_;
};

}  // namespace

MethodInfo roco_method() {
  MethodInfo info = method_info<Roco>({.name = "roco"});
  info.summary = "keeps keys that get much attention, and those whose attention varies";
  info.when = "as h2o, where what matters is needed by few queries";
  info.keeps =
      "the rows that get much attention on average, those whose attention varies, sinks and the "
      "newest; the rest is gone for good";
  info.harms =
      "a fact that is mentioned once and asked for at the end. Counting costs a second pass over "
      "the keys";
  info.paper =
      "On the Efficacy of Eviction Policy for Key-Value Constrained Generative Language "
      "Model Inference, arXiv 2402.06262";
  info.covers = {"", "positions=cache"};
  info.small = {{"budget=60,stride=20"},
                {"budget=60,stride=20,positions=cache", 100},
                {"budget=24,stride=8,sink=2,recent=4,positions=cache", 40},
                {"budget=24,stride=8,sink=2,recent=4"}};
  return info;
}

}  // namespace longhaul
