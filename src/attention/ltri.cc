// Ltri-LLM (Tang et al. 2024; docs/methods/ltri.md): InfLLM's context, found otherwise. A block is
// divided into spans that attend to themselves; the tokens of a span that its neighbours look at
// are its index vectors, more of them where the neighbours know little. Only retrieval heads look
// up, and a layer takes the blocks that the retrieval heads up to it vote for.

#include <algorithm>
#include <numeric>
#include <utility>

#include "attention/block_maps.h"
#include "attention/context_blocks.h"
#include "attention/ltri_options.h"
#include "attention/registry.h"
#include "attention/span_index.h"
#include "attention/span_vectors.h"
#include "base/byte_stream.h"
#include "base/error.h"
#include "ops/ranking.h"

namespace longhaul {
namespace {

class Ltri final : public AttentionMethod {
 public:
  Ltri(const LtriOptions& options, const ModelShape& shape)
      : o_(options),
        shape_(shape),
        blocks_(options.blocks, shape),
        maps_(options.blocks, shape.layers),
        vectors_(options, shape),
        layers_(options.layers.size()) {}

  std::vector<Pass> prepare(const PromptFacts& prompt) override {
    return passes_with_last(prompt, o_.blocks.chunk, o_.last);
  }

  void attend(LayerStep& step) override {
    if (step.layer == 0) weights_.assign(weights_.size(), 0.0f), latest_.clear();
    blocks_.begin(step);
    Layer& layer = at(step);
    const int64_t blocks = blocks_.retrieves() ? blocks_.split().blocks : 0;
    LH_ASSERT(layer.known <= blocks && (!looks_up(step) || layer.index.blocks() == blocks));
    if (blocks <= o_.blocks.topk) {
      layer.chosen.resize(static_cast<size_t>(blocks));
      std::iota(layer.chosen.begin(), layer.chosen.end(), 0);
      blocks_.attend(step, layer.chosen);
    } else if (step.decoding && o_.persistent) {
      blocks_.attend(step, with_new_blocks(layer, blocks));
    } else if (looks_up(step)) {
      blocks_.attend(step, [&] { return layer.chosen = look_up(step); });
    } else {
      layer.chosen = latest_.empty() ? std::vector<int32_t>() : voted();
      blocks_.attend(step, layer.chosen);
    }
    if (blocks <= o_.blocks.topk || !step.decoding || !o_.persistent) {
      layer.known = static_cast<int32_t>(blocks);
    }
    if (!looks_up(step)) return blocks_.end(step, nullptr);
    maps_.add(step, blocks_);
    blocks_.end(step, [&](const AgedBlock& block) {
      vectors_.add_block(step, block, maps_.of(step, block), layer.index);
    });
    maps_.drop(step);
  }

  size_t most_kv_bytes(const KvLayout& layout, int64_t tokens, int chunk) const override {
    int64_t bytes = 0;
    for (int l = 0; l < shape_.layers; ++l) {
      if (!rule(l).looks_up) continue;
      const int64_t vectors = std::min<int64_t>(o_.vectors + o_.spans, o_.blocks.block);
      const int64_t elements = tokens / o_.blocks.block * vectors * vectors_.width(l);
      bytes += static_cast<int64_t>(bytes_of(vectors_.index_type(l, layout.type), elements));
      bytes += (o_.blocks.local + o_.blocks.chunk + o_.blocks.block) * o_.blocks.block * 4;
    }
    return blocks_.most_kv_bytes(layout, tokens, chunk) + static_cast<size_t>(bytes);
  }

  size_t index_bytes() const override {
    size_t bytes = 0;
    for (const Layer& layer : layers_) bytes += layer.index.bytes();
    return bytes;
  }

  void save(ByteWriter& out) const override {
    blocks_.save(out);
    maps_.save(out);
    for (const Layer& layer : layers_) {
      layer.index.save(out);
      out.array(std::span<const int32_t>(layer.chosen));
      out.number(layer.known);
    }
  }
  void restore(ByteReader& in) override {
    blocks_.restore(in);
    maps_.restore(in);
    for (size_t l = 0; l < layers_.size(); ++l) {
      layers_[l].index.restore(in, vectors_.width(static_cast<int>(l)));
      layers_[l].chosen = in.array<int32_t>();
      layers_[l].known = in.number<int32_t>();
      const auto& chosen = layers_[l].chosen;
      int32_t before = -1;
      bool ascend = std::ssize(chosen) <= o_.blocks.topk;
      for (const int32_t block : chosen) ascend = ascend && std::exchange(before, block) < block;
      if (!ascend || before >= layers_[l].known || layers_[l].known < 0) {
        user_error("{}: damaged: blocks out of order", in.path().string());
      }
    }
  }
  void check_restored(const KvStore& store, int64_t tokens) const override {
    blocks_.check_restored(store, tokens, [&](int l) { return rule(l).looks_up; });
    const int64_t all = split_context(o_.blocks, tokens).blocks;
    for (int l = 0; l < shape_.layers; ++l) {
      const Layer& layer = layers_[static_cast<size_t>(l)];
      const int64_t blocks = shape_.own_window(l) == 0 ? all : 0;
      const bool own =
          !rule(l).looks_up || (layer.index.blocks() == blocks && maps_.fits(l, tokens) &&
                                layer.index.takes(vectors_.index_type(l, store.layout().type)));
      if (!own || layer.known > blocks) {
        user_error("layer {} has an index of blocks of another context", l);
      }
    }
  }

  int64_t reach(int64_t tokens, int) const override { return o_.blocks.reach(tokens); }

 private:
  struct Layer {
    SpanIndex index;
    std::vector<int32_t> chosen;  ///< blocks, by the last step that looked up
    int32_t known = 0;            ///< blocks that there were then
  };

  Layer& at(const LayerStep& step) { return layers_[static_cast<size_t>(step.layer)]; }
  const LtriLayer& rule(int layer) const { return o_.layers[static_cast<size_t>(layer)]; }
  bool looks_up(const LayerStep& step) const { return rule(step.layer).looks_up; }
  /// What the last look-up chose, and the newest of the blocks that it saw as part of the
  /// remainder: the end of the text must not vanish while the reply is written.
  std::vector<int32_t> with_new_blocks(const Layer& layer, int64_t blocks) const {
    std::vector<int32_t> shown = layer.chosen;
    const int64_t most = std::max<int64_t>(1, o_.blocks.cached - o_.blocks.topk);
    for (int64_t b = std::max<int64_t>(layer.known, blocks - most); b < blocks; ++b) {
      shown.push_back(static_cast<int32_t>(b));
    }
    return shown;
  }

  std::vector<int32_t> look_up(const LayerStep& step) {
    const std::vector<float> queries = vectors_.of_rows(step, blocks_, maps_);
    std::vector<float> scores =
        at(step).index.scores(queries, vectors_.width(step.layer), o_.similarity);
    std::vector<int32_t> own = top_indices(scores, o_.blocks.topk);
    if (rule(step.layer).head < 0) return own;
    latest_ = std::move(scores);
    weights_.resize(latest_.size());
    for (const int32_t block : own) {
      weights_[static_cast<size_t>(block)] += rule(step.layer).weight;
    }
    return o_.vote ? voted() : own;
  }

  /// The blocks with the largest weight; of equal ones those that the latest retrieval head scores
  /// higher.
  std::vector<int32_t> voted() const {
    std::vector<int32_t> order(latest_.size());
    std::iota(order.begin(), order.end(), 0);
    const auto key = [&](int32_t b) {
      return std::pair(weights_[static_cast<size_t>(b)], latest_[static_cast<size_t>(b)]);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return key(a) > key(b); });
    order.resize(std::min(order.size(), static_cast<size_t>(o_.blocks.topk)));
    std::sort(order.begin(), order.end());
    return order;
  }

  LtriOptions o_;
  ModelShape shape_;
  ContextBlocks blocks_;
  BlockMaps maps_;
  SpanVectors vectors_;
  std::vector<Layer> layers_;
  std::vector<float> weights_;  ///< per block: of the retrieval heads of this pass that chose it
  std::vector<float> latest_;   ///< per block: score by the last of them
};

constexpr OptionInfo kOptions[] = {
    block_option::kInit,
    block_option::kLocal,
    {"block", OptionKind::kInteger, "128", "tokens", 1, 512, "", "tokens of a block"},
    block_option::kTopk,
    block_option::kChunk,
    {"last", OptionKind::kInteger, "32", "tokens", 1, 1 << 16, "",
     "rows of a prompt's last step: the question, and little more; --chunk caps it"},
    block_option::kCached,
    {"heads", OptionKind::kText, "", "", 0, 0, "",
     "retrieval heads, LAYER.HEAD:WEIGHT/...; one a layer; none: all heads, summed"},
    {"early", OptionKind::kChoice, "average", "", 0, 0, "average|window",
     "layers before the first retrieval head: look up by all heads, or see the window only"},
    {"vote", OptionKind::kBool, "true", "", 0, 0, "",
     "a layer takes what the retrieval heads up to it vote for", "heads"},
    {"theta", OptionKind::kText, "0.9", "quantile", 0, 0, "",
     "what a block's map must pass to count for a span; one number, or one per layer, with /"},
    {"phi", OptionKind::kText, "0.1", "IoU", 0, 0, "",
     "most overlap of two spans; one number, or one per layer, with /"},
    {"spans", OptionKind::kInteger, "4", "spans", 1, 512, "", "most spans of a block"},
    {"vectors", OptionKind::kInteger, "12", "vectors", 1, 512, "", "most index vectors of a block"},
    {"lambda", OptionKind::kText, "3", "", 0, 0, "",
     "how fast a span that its neighbours know gets fewer vectors; one, or one per layer, with /"},
    {"lambda_first", OptionKind::kReal, "20", "", 0, 1000, "",
     "the same in the first eighth of the layers", "one lambda"},
    {"ratio", OptionKind::kChoice, "row", "", 0, 0, "row|col|rowcol",
     "neighbours of a span: tokens before it, after it, or both"},
    {"queries", OptionKind::kChoice, "spans", "", 0, 0, "spans|rows",
     "what looks up: index tokens of the step's spans, or its last query_rows rows (ours)"},
    {"query_rows", OptionKind::kInteger, "1", "tokens", 1, 1 << 16, "",
     "how many of the last rows look up, no more than last", "queries=rows"},
    {"similarity", OptionKind::kChoice, "sum", "", 0, 0, "sum|max",
     "of two spans: the sum over pairs of vectors, or the best pair (ours)"},
    {"decode", OptionKind::kChoice, "persistent", "", 0, 0, "persistent|refresh",
     "generated tokens keep the last step's blocks, or look up again (ours)"},
    block_option::kFidelity,
};

}  // namespace

MethodInfo ltri_method() {
  MethodInfo info;
  info.name = "ltri";
  info.summary =
      "InfLLM's window and blocks, looked up by retrieval heads through spans of meaning";
  info.when = "finding facts in texts far beyond memory and trained length, at nearly linear cost";
  info.keeps =
      "the first tokens and a window in fast memory, all older blocks in a slower tier; retrieval "
      "heads choose what each step looks up";
  info.harms =
      "models whose retrieval heads are not known ('longhaul heads' finds them), and what must be "
      "read from many places at once";
  info.paper =
      "Tang et al. 2024, Ltri-LLM: Streaming Long Context Inference for LLMs with Training-Free "
      "Dynamic Triangular Attention Pattern";
  info.options = kOptions;
  info.make = [](const MethodOptions& o, const ModelShape& s) -> std::unique_ptr<AttentionMethod> {
    return std::make_unique<Ltri>(ltri_options(o, s), s);
  };
  return info;
}

}  // namespace longhaul
