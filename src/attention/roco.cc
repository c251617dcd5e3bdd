// RoCo (Ren and Zhu 2024): of the keys whose attention varies least from row to row, those that get
// least on average leave; keys that some rows need much and others not at all are left alone. Each
// KV head chooses for itself while the prompt is read (docs/methods/roco.md).

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/stride_eviction.h"
#include "base/error.h"
#include "ops/ranking.h"

namespace longhaul {
namespace {

constexpr int64_t kSettling = 10;  // newest rows: seen by too few to be judged

/// What rounding alone may make of the variance of equal numbers, a share of their squared mean. A
/// sum of n numbers in f32 is off by up to n / 2 units of 2^-24: the mean's error counts twice,
/// that of the squares once. 16 more for the heads of each row: a key that one row saw varies by
/// nothing.
double rounding_share(float rows) { return (16 + 2 * double{rows}) * 0x1p-24; }

class Roco final : public StrideEviction {
 public:
  using StrideEviction::StrideEviction;
  int numbers_per_row() const override { return 4; }  // its token and three columns

 private:
  /// Per row of a list: what the rows of the text gave it, over the query heads of the KV head, the
  /// squares of that, and how many rows there were. The mean over the heads, by which the paper's
  /// code judges, is a constant factor below: it changes no order.
  void observe(LayerStep& step, PlacedRows& rows) override {
    const int64_t length = step.store->length(step.layer, 0), before = length - step.rows;
    std::vector<ColumnTarget> targets;
    for (int head = 0; head < step.kv_heads; ++head) {
      const std::span<float> seen = step.store->column(step.layer, head, "seen");
      for (int64_t row = 0; row < length; ++row) {
        const int64_t by = step.rows - std::max<int64_t>(0, row - before);
        seen[static_cast<size_t>(row)] += static_cast<float>(by);
      }
      targets.push_back({step.store->column(step.layer, head, "attention").data(),
                         step.store->column(step.layer, head, "squares").data()});
    }
    rows.add_columns(step, 0, length, targets);
  }

  void forget(KvStore& store, int layer, int64_t length) override {
    for (int head = 0; head < store.layout().heads[static_cast<size_t>(layer)]; ++head) {
      store.keep(layer, head, kept(store, layer, head, length));
    }
  }

  std::vector<int32_t> kept(KvStore& store, int layer, int head, int64_t length) const {
    const std::span<const float> sums = store.column(layer, head, "attention");
    const std::span<const float> squares = store.column(layer, head, "squares");
    const std::span<const float> seen = store.column(layer, head, "seen");
    const int64_t held = std::ssize(sums), leaving = held - length;
    const int64_t last = held - std::min(held - how().sink - leaving, kSettling);
    std::vector<float> steadiness, means;
    for (int64_t row = how().sink; row < last; ++row) {
      const auto i = static_cast<size_t>(row);
      const double mean = sums[i] / seen[i];
      means.push_back(static_cast<float>(mean));
      const double variance = squares[i] / seen[i] - mean * mean;
      const bool steady = variance < rounding_share(seen[i]) * mean * mean;
      steadiness.push_back(steady ? 0.0f : static_cast<float>(-std::sqrt(variance)));
    }
    // EasyKV's size of the feasible set: what neither a window nor the sinks would take.
    const int64_t feasible = how().budget + how().stride - how().recent - how().sink;
    std::vector<float> scores(sums.size(), std::numeric_limits<float>::infinity());
    for (const int32_t i : top_indices(steadiness, std::max(feasible, leaving))) {
      scores[static_cast<size_t>(i + how().sink)] = means[static_cast<size_t>(i)];
    }
    return top_indices(scores, length);
  }
};

constexpr OptionInfo kOptions[] = {
    {"budget", OptionKind::kInteger, "2048", "tokens", 1, 1 << 24, "", "rows that a head keeps"},
    {"stride", OptionKind::kInteger, "256", "tokens", 1, 1 << 20, "",
     "prompt tokens between two cuts; a head keeps up to budget + stride"},
    {"sink", OptionKind::kInteger, "4", "tokens", 0, 4096, "", "first rows that never leave"},
    {"recent", OptionKind::kInteger, "auto", "tokens", 0, 1 << 20, "",
     "rows, besides the sinks, whose attention may vary too much to be judged; auto: a tenth of "
     "budget + stride. The last 10 never leave"},
    {"positions", OptionKind::kChoice, "absolute", "", 0, 0, "absolute|cache",
     "where keys stand: at their place in the text, or in the kept list (no bound then)"},
};

}  // namespace

MethodInfo roco_method() {
  MethodInfo info;
  info.name = "roco";
  info.summary = "keeps keys that get much attention, and those whose attention varies";
  info.when = "as h2o, where what matters is needed by few queries";
  info.keeps =
      "the rows that get much attention on average, those whose attention varies, sinks and the "
      "newest; the rest is gone for good";
  info.harms =
      "a fact that is mentioned once and asked for at the end. Counting costs a second pass over "
      "the "
      "keys";
  info.paper =
      "On the Efficacy of Eviction Policy for Key-Value Constrained Generative Language "
      "Model Inference, arXiv 2402.06262";
  info.options = kOptions;
  info.make = [](const MethodOptions& options,
                 const ModelShape& shape) -> std::unique_ptr<AttentionMethod> {
    return std::make_unique<Roco>(StrideBudget::from(options, "roco"), shape);
  };
  return info;
}

}  // namespace longhaul
