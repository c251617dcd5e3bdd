// XAttention (docs/methods/xattention.md): blocks of 128 query rows and 128 keys are scored by the
// sums of their antidiagonals (attention/methods/xattention/antidiagonal_blocks.h). Every tile of
// 128 rows sees the key blocks with the highest scores, until they hold the share tau of its
// scores.

#include "attention/methods/xattention/antidiagonal_blocks.h"
#include "attention/methods/xattention/head_thresholds.h"
#include "attention/parts/sparse_prefill.h"
#include "base/error.h"
#include "base/nth.h"

namespace longhaul {
namespace {

constexpr int kXBlock = 128;

class XAttention final : public SparsePrefill {
 public:
  XAttention() : SparsePrefill(kXBlock) {}
  double tau = 0.9;
  int stride_at = 3;  // log2 of the stride
  double norm = 1;
  std::string thresholds;
  void declare(OptionList& o) {
    o.real(tau, "tau", 0, 1, "", "share of its scores that a row block takes")
        .only([this] { return thresholds.empty(); }, "no thresholds", "thresholds");
    o.choice(stride_at, "stride", {"1", "2", "4", "8", "16", "32"},
             "length of antidiagonals; longer is cheaper and coarser")
        .unit = "tokens";
    o.real(norm, "norm", 0.01, 100, "", "divides the scores before their softmax");
    o.file(thresholds, "thresholds", "JSON file with a tau for every layer and head, instead");
    declare_dense_below(o);
  }

  void fit(const ModelShape& shape) {
    shape_ = shape;
    rule_ = {1 << stride_at, norm};
    if (rule_.stride * shape.head_dim > kMostGroupElements) {
      user_error("--attention xattention: stride={}: with heads of {} it must be at most {}",
                 rule_.stride, shape.head_dim, kMostGroupElements / shape.head_dim);
    }
    const std::vector<double> heads(static_cast<size_t>(shape.heads), tau);
    thresholds_.assign(static_cast<size_t>(shape.layers), heads);
    if (thresholds.empty()) return;
    thresholds_ = shape.of_own_heads(
        read_thresholds(thresholds, rule_.stride, shape.layers, shape.all_heads()));
  }

  ExtraMemory extra_memory(const KvLayout&, int64_t tokens, int rows) const override {
    return {.working = AntidiagonalMemory::bytes_for(rule_, kXBlock, shape_.heads, shape_.head_dim,
                                                     rows, tokens) +
                       tile_bytes(shape_.heads, tokens, rows)};
  }

 private:
  bool choose_tiles(LayerStep& step, int, std::span<TileRule> rules) override {
    const int group = step.group();
    const std::span<const double> shares = nth(thresholds_, step.layer);
    heads_.clear();
    for (int h = 0; h < step.kv_heads; ++h) {
      if (!step.attends(h)) continue;
      heads_.push_back({h * group, group, step.rows_of(h),
                        shares.subspan(static_cast<size_t>(h * group), static_cast<size_t>(group)),
                        mark_blocks(step, h * group, group, rules)});
    }
    const View<const float> queries[] = {step.rotated_q()};
    return choose_antidiagonal_blocks(step.call(queries), grid(step), rule_, heads_, memory_);
  }

  ModelShape shape_;
  AntidiagonalRule rule_;
  HeadThresholds thresholds_;
  // Buffers of a step.
  std::vector<AntidiagonalHeads> heads_;
  AntidiagonalMemory memory_;
};

}  // namespace

MethodInfo xattention_method() {
  MethodInfo info = method_info<XAttention>({.name = "xattention"});
  info.summary = "keeps every key; rows of a prompt see the blocks with the heaviest antidiagonals";
  info.when = "faster prefill of long prompts within the trained length, no calibration";
  info.keeps =
      "every key and value; while a prompt is read, rows see only the blocks with the heaviest "
      "antidiagonals";
  info.harms =
      "short prompts, where choosing blocks costs more than it saves, and single keys that a "
      "block's sum hides";
  info.paper =
      "Xu et al. 2025, XAttention: Block Sparse Attention with Antidiagonal Scoring, "
      "arXiv 2503.16428";
  info.covers = {"", "dense_below=0,tau=1", "dense_below=0,tau=1,stride=4"};
  info.small = {{"dense_below=0"}};
  return info;
}

}  // namespace longhaul
