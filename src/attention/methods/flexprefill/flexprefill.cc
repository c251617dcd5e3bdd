// FlexPrefill (docs/methods/flexprefill.md): in every pass, each query head selects blocks of 128
// keys. By default, it selects columns and diagonals of the attention of the last 128 rows until
// they hold the share gamma of this attention. If the attention of a head can be estimated from
// mean queries and mean keys (the Jensen-Shannon distance is below tau), the head instead selects
// pairs of a tile and a block with the highest estimated attention, also until they hold the share
// gamma.

#include <algorithm>
#include <cmath>

#include "attention/methods/flexprefill/flex_blocks.h"
#include "attention/parts/sparse_prefill.h"
#include "ops/maps/last_rows.h"
#include "ops/maps/mean_keys.h"

namespace longhaul {
namespace {

constexpr int kBlock = 128;
constexpr int kLastRows = 128;

class FlexPrefill final : public SparsePrefill {
 public:
  FlexPrefill() : SparsePrefill(kBlock) {}
  double gamma = 0.9, tau = 0.1;
  int64_t min_budget = 512;
  void declare(OptionList& o) {
    o.real(gamma, "gamma", 0, 1, "", "share of the attention that is aimed at");
    o.real(tau, "tau", 0, 1, "",
           "distance below which a head chooses pairs of blocks by their means; 0: none does");
    o.integer(min_budget, "min_budget", 1, 1 << 24, "tokens",
              "least columns, and least diagonals, that a head takes; shorter contexts are dense");
    declare_dense_below(o);
  }

  void fit(const ModelShape& shape) { shape_ = shape; }

  ExtraMemory extra_memory(const KvLayout&, int64_t tokens, int rows) const override {
    return {.working = LastRows::bytes_for(shape_.heads, kLastRows, tokens) +
                       FlexMemory::bytes_for(tokens) + tile_bytes(shape_.heads, tokens, rows)};
  }

 private:
  bool choose_tiles(LayerStep& step, int, std::span<TileRule> rules) override {
    const TileGrid on = grid(step);
    if (on.keys() <= std::max<int64_t>(2 * kBlock, min_budget)) return false;
    const View<const float> queries[] = {step.rotated_q()};
    last_.look(step.call(queries), last_rows(step, kLastRows), on.keys());
    means_.average(*step.queue, step.lists(), step.only, on);
    heads_.clear();
    for (int head = 0; head < shape_.heads; ++head) {
      const int kv_head = head / step.group();
      if (!step.attends(kv_head)) continue;
      heads_.push_back({head, last_.columns(head), last_.diagonals(head), means_.of(kv_head),
                        mark_blocks(step, head, 1, rules)});
    }
    const FlexRule rule{.mass = gamma < 1 ? gamma : INFINITY,
                        .distance = tau,
                        .least = (min_budget + kBlock - 1) / kBlock,
                        .scale = shape_.scale,
                        .last_rows = last_.rows()};
    choose_flex_blocks(*step.queue, {queries[0], shape_.heads, step.head_dim(), on}, rule, heads_,
                       memory_);
    return true;
  }

  ModelShape shape_;
  // Buffers of a step.
  LastRows last_;
  KeyMeans means_;
  std::vector<FlexHead> heads_;
  FlexMemory memory_;
};

}  // namespace

MethodInfo flexprefill_method() {
  MethodInfo info = method_info<FlexPrefill>({.name = "flexprefill"});
  info.summary =
      "keeps every key; heads read a prompt by blocks that hold a share of the attention";
  info.when = "faster prefill of long prompts within the trained length, no calibration";
  info.keeps =
      "every key and value; while a prompt is read, each head computes only blocks that hold a "
      "share of its attention";
  info.harms =
      "short prompts, where choosing blocks costs more than it saves, and heads whose needs the "
      "last rows of the prompt do not show";
  info.paper =
      "Lai et al. 2025, FlexPrefill: A Context-Aware Sparse Attention Mechanism for Efficient "
      "Long-Sequence Inference, arXiv 2502.20766";
  info.covers = {"", "dense_below=0,min_budget=700", "dense_below=0,gamma=1,min_budget=128"};
  info.small = {{"dense_below=0,min_budget=8"}, {"dense_below=0"}};
  return info;
}

}  // namespace longhaul
