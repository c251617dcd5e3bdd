// H2O (Zhang et al. 2023): every key sums up the attention that all queries pay it; the keys with
// the largest sums stay, with the most recent ones. `stream` forgets while a prompt is read, so
// that memory stays bounded; `oneshot` reads it whole and then chooses. Each KV head chooses for
// itself.

#include "attention/prompt_compression.h"
#include "attention/restored_lists.h"
#include "attention/stride_eviction.h"
#include "base/error.h"

namespace longhaul {
namespace {

/// Adds the step's attention to the sums of all keys.
void add_attention(LayerStep& step, PlacedRows& rows) {
  std::vector<ColumnTarget> targets;
  for (int head = 0; head < step.kv_heads; ++head) {
    targets.push_back({step.store->column(step.layer, head, "attention").data()});
  }
  rows.add_columns(step, 0, step.store->length(step.layer, 0), targets);
}

/// Of a list the first `sink` rows, the last `recent` and the largest sums: `budget` in all.
void keep_heavy(KvStore& store, int layer, int64_t budget, int64_t sink, int64_t recent) {
  for (int head = 0; head < store.layout().heads[static_cast<size_t>(layer)]; ++head) {
    const std::span<const float> sums = store.column(layer, head, "attention");
    std::vector<int32_t> kept;
    for (int64_t row = 0; row < sink; ++row) kept.push_back(static_cast<int32_t>(row));
    for (const int32_t row : compressed_rows(sums.subspan(static_cast<size_t>(sink)), budget - sink,
                                             recent, 1, Pooling::kMax)) {
      kept.push_back(row + static_cast<int32_t>(sink));
    }
    store.keep(layer, head, kept);
  }
}

class StreamedH2o final : public StrideEviction {
 public:
  using StrideEviction::StrideEviction;

 private:
  void observe(LayerStep& step, PlacedRows& rows) override { add_attention(step, rows); }
  void forget(KvStore& store, int layer, int64_t length) override {
    keep_heavy(store, layer, length, how().sink, how().recent);
  }
};

class OneshotH2o final : public AttentionMethod {
 public:
  OneshotH2o(int64_t budget, int64_t recent, const ModelShape& shape)
      : budget_(budget), recent_(recent), shape_(shape) {}

  std::vector<Pass> prepare(const PromptFacts& prompt) override {
    reading_ = true;
    return AttentionMethod::prepare(prompt);
  }

  void attend(LayerStep& step) override {
    if (step.decoding) reading_ = false;
    rows_.attend(step);
    if (reading_ && forgets(step.layer)) add_attention(step, rows_);
  }

  void retain(KvStore& store, const Pass&, bool last_of_prompt) override {
    if (!last_of_prompt) return;
    reading_ = false;
    for (int layer = 0; layer < shape_.layers; ++layer) {
      if (!forgets(layer) || store.length(layer, 0) <= budget_) continue;
      keep_heavy(store, layer, budget_, 0, recent_);
    }
  }

  bool can_rewind() const override { return false; }  // sums hold what later queries paid
  void check_restored(const KvStore& store, int64_t tokens) const override {
    expect_kept_rows(store, shape_, tokens, false);
  }

 private:
  bool forgets(int layer) const { return shape_.window[static_cast<size_t>(layer)] == 0; }

  int64_t budget_, recent_;
  ModelShape shape_;
  PlacedRows rows_{Placement::kText};
  bool reading_ = false;
};

constexpr OptionInfo kOptions[] = {
    {"mode", OptionKind::kChoice, "stream", "", 0, 0, "stream|oneshot",
     "forget while the prompt is read, or once it has been read"},
    {"budget", OptionKind::kInteger, "2048", "tokens", 1, 1 << 24, "", "rows that a head keeps"},
    {"stride", OptionKind::kInteger, "256", "tokens", 1, 1 << 20, "",
     "prompt tokens between two cuts; a head keeps up to budget + stride", "mode=stream"},
    {"sink", OptionKind::kInteger, "4", "tokens", 0, 4096, "", "first rows that never leave",
     "mode=stream"},
    {"recent", OptionKind::kInteger, "auto", "tokens", 0, 1 << 20, "",
     "last rows that never leave; auto: a tenth of budget + stride, or 32 with mode=oneshot"},
    {"positions", OptionKind::kChoice, "absolute", "", 0, 0, "absolute|cache",
     "where keys stand: at their place in the text, or in the kept list (no bound then)",
     "mode=stream"},
};

std::unique_ptr<AttentionMethod> make(const MethodOptions& options, const ModelShape& shape) {
  if (options.text("mode") == "stream") {
    return std::make_unique<StreamedH2o>(StrideBudget::from(options, "h2o"), shape);
  }
  const int64_t budget = options.integer("budget");
  const int64_t recent = options.optional_integer("recent").value_or(32);
  if (budget < recent) {
    user_error("--attention h2o: budget={}: must be at least recent = {}", budget, recent);
  }
  return std::make_unique<OneshotH2o>(budget, recent, shape);
}

}  // namespace

MethodInfo h2o_method() {
  MethodInfo info;
  info.name = "h2o";
  info.summary =
      "keeps the keys to which all queries together paid most attention, and recent ones";
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
  info.options = kOptions;
  info.make = make;
  return info;
}

}  // namespace longhaul
