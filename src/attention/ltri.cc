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
#include "attention/span_index.h"
#include "base/byte_stream.h"
#include "base/error.h"
#include "ops/ranking.h"
#include "ops/span_division.h"

namespace longhaul {
namespace {

class Ltri final : public AttentionMethod {
 public:
  Ltri(const LtriOptions& options, const ModelShape& shape)
      : o_(options),
        shape_(shape),
        blocks_(options.blocks, shape),
        maps_(options.blocks, shape.layers),
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
    blocks_.end(step, [&](const AgedBlock& block) { represent(step, block); });
    maps_.drop(step);
  }

  size_t most_kv_bytes(const KvLayout& layout, int64_t tokens, int chunk) const override {
    const int64_t element = layout.type == DType::F32 ? 4 : 2;
    int64_t bytes = 0;
    for (size_t l = 0; l < layers_.size(); ++l) {
      if (!o_.layers[l].looks_up) continue;
      const int64_t vectors = std::min<int64_t>(o_.vectors + o_.spans, o_.blocks.block);
      bytes += tokens / o_.blocks.block * vectors * width(static_cast<int>(l)) * element;
      bytes += (o_.blocks.local + o_.blocks.chunk + o_.blocks.block) * o_.blocks.block * 4;
    }
    return blocks_.most_kv_bytes(layout, tokens, chunk) + static_cast<size_t>(bytes);
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
      layers_[l].index.restore(in, width(static_cast<int>(l)));
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
                                layer.index.takes(KeyVectors::type_for(store.layout().type)));
      if (!own || layer.known > blocks) {
        user_error("layer {} has an index of blocks of another context", l);
      }
    }
  }

  int64_t longest_context(const ModelShape&) const override { return 0; }

 private:
  struct Layer {
    SpanIndex index;
    std::vector<int32_t> chosen;  ///< blocks, by the last step that looked up
    int32_t known = 0;            ///< blocks that there were then
  };

  Layer& at(const LayerStep& step) { return layers_[static_cast<size_t>(step.layer)]; }
  const LtriLayer& rule(int layer) const { return o_.layers[static_cast<size_t>(layer)]; }
  bool looks_up(const LayerStep& step) const { return rule(step.layer).looks_up; }
  /// Floats of an index vector: the key of the retrieval head, or those of all KV heads.
  int64_t width(int layer) const {
    const int heads = rule(layer).head >= 0 ? 1 : shape_.kv_heads[static_cast<size_t>(layer)];
    return int64_t{heads} * shape_.head_dim;
  }
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
    std::vector<float> scores =
        at(step).index.scores(query_vectors(step), width(step.layer), o_.similarity);
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

  /// Tokens of a span that stand for it: those with most votes, as many as its ratio asks for.
  std::vector<int32_t> index_tokens(int layer, const BlockMap& map, const TokenSpan& span,
                                    std::span<const float> votes) const {
    const float ratio = span_ratio(map, span, o_.ratio);
    const int most = (o_.vectors + o_.spans - 1) / o_.spans;
    const auto of_span =
        votes.subspan(static_cast<size_t>(span.begin), static_cast<size_t>(span.length()));
    std::vector<int32_t> tokens =
        top_indices(of_span, index_count(span.length(), ratio, rule(layer).lambda, most));
    for (int32_t& token : tokens) token += span.begin;
    return tokens;
  }

  std::vector<TokenSpan> spans_of(int layer, const BlockMap& map) const {
    const LtriLayer& r = rule(layer);
    return divide_into_spans(map, {map_quantile(map, r.theta), r.phi, o_.spans});
  }

  /// [count, width]: of every span of the step's rows the sum of its query vectors (with a sum over
  /// both, <sum of q, k> is the paper's double sum, 3.4), or each vector for itself.
  std::vector<float> query_vectors(const LayerStep& step) {
    std::vector<float> vectors;
    if (o_.queries == LtriQueries::kRows || step.rows == 1) {
      for (int r = std::max(0, step.rows - o_.query_rows); r < step.rows; ++r)
        add_query(step, r, vectors);
      return vectors;
    }
    const int block = static_cast<int>(o_.blocks.block);
    for (int first = 0; first < step.rows; first += block) {
      const int rows = std::min(block, step.rows - first);
      const BlockMap map = maps_.of_rows(step, blocks_, first, rows);
      std::vector<float> votes(static_cast<size_t>(rows));
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j <= i; ++j) votes[static_cast<size_t>(j)] += map.at(i, j);
      }
      for (const TokenSpan& span : spans_of(step.layer, map)) {
        const size_t begin = vectors.size();
        for (const int32_t token : index_tokens(step.layer, map, span, votes)) {
          add_query(step, first + token, vectors);
        }
        if (o_.similarity == SpanSimilarity::kSum) sum_vectors(step.layer, begin, vectors);
      }
    }
    return vectors;
  }

  /// Appends the query of a row, at the constant angle: that of the retrieval head, or those of all
  /// heads, summed over the heads of a KV head.
  void add_query(const LayerStep& step, int row, std::vector<float>& vectors) const {
    const int dim = shape_.head_dim, head = rule(step.layer).head;
    const float* q = blocks_.far_q() + static_cast<int64_t>(row) * shape_.heads * dim;
    if (head >= 0) return void(vectors.insert(vectors.end(), q + head * dim, q + (head + 1) * dim));
    const size_t at = vectors.size();
    vectors.resize(at + static_cast<size_t>(width(step.layer)));
    for (int h = 0; h < shape_.heads; ++h) {
      float* to = vectors.data() + at + h / step.group() * dim;
      for (int t = 0; t < dim; ++t) to[t] += q[h * dim + t];
    }
  }

  void sum_vectors(int layer, size_t begin, std::vector<float>& vectors) const {
    const size_t one = static_cast<size_t>(width(layer));
    for (size_t at = begin + one; at < vectors.size(); ++at) {
      vectors[begin + (at - begin) % one] += vectors[at];
    }
    vectors.resize(begin + one);
  }

  /// Divides a block into spans and adds their index vectors to the layer's index.
  void represent(const LayerStep& step, const AgedBlock& block) {
    const int64_t n = o_.blocks.block, dim = shape_.head_dim, heads = shape_.heads;
    const int head = rule(step.layer).head;
    const DType type = KeyVectors::type_for(step.store->layout().type);
    const BlockMap map = maps_.of(step, block);
    std::vector<float> votes(static_cast<size_t>(n)), vectors, value(static_cast<size_t>(dim));
    for (size_t i = 0; i < block.votes.size(); ++i)
      votes[i / static_cast<size_t>(heads)] += block.votes[i];
    for (const TokenSpan& span : spans_of(step.layer, map)) {
      vectors.clear();
      for (const int32_t token : index_tokens(step.layer, map, span, votes)) {
        const size_t at = vectors.size();
        vectors.resize(at + static_cast<size_t>(width(step.layer)));
        for (int64_t i = 0; i < width(step.layer) / dim; ++i) {
          const int list = head >= 0 ? head / step.group() : static_cast<int>(i);
          step.store->read(step.layer, list, block.first + token, vectors.data() + at + i * dim,
                           value.data());
        }
      }
      at(step).index.add_span(vectors, width(step.layer), type);
    }
    at(step).index.end_block();
  }

  LtriOptions o_;
  ModelShape shape_;
  ContextBlocks blocks_;
  BlockMaps maps_;
  std::vector<Layer> layers_;
  std::vector<float> weights_;  ///< per block: of the retrieval heads of this pass that chose it
  std::vector<float> latest_;   ///< per block: score by the last of them
};

}  // namespace

std::unique_ptr<AttentionMethod> make_ltri(const LtriOptions& options, const ModelShape& shape) {
  return std::make_unique<Ltri>(options, shape);
}

}  // namespace longhaul
