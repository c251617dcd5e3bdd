// InfLLM (Xiao et al. 2024; docs/methods/infllm.md): a window, the first tokens, and blocks of
// older tokens that are looked up by the tokens of each block that got most attention while they
// were in the window. Every step chooses anew, in every layer for itself.

#include <algorithm>

#include "attention/block_index.h"
#include "attention/context_blocks.h"
#include "attention/registry.h"
#include "base/byte_stream.h"
#include "base/error.h"
#include "ops/ranking.h"

namespace longhaul {
namespace {

struct InfLlmOptions {
  BlockOptions blocks;
  int64_t repr = 4;        ///< tokens that represent a block, of each query head's own choice
  bool best_repr = false;  ///< they count by the best of them, not by their mean
};

class InfLlm final : public AttentionMethod {
 public:
  InfLlm(const InfLlmOptions& options, const ModelShape& shape)
      : o_(options),
        shape_(shape),
        blocks_(options.blocks, shape),
        vectors_(options.best_repr ? std::min(options.repr, options.blocks.block) : 1),
        index_(static_cast<size_t>(shape.layers),
               BlockIndex(shape.heads, vectors_, shape.head_dim)) {}

  std::vector<Pass> prepare(const PromptFacts& prompt) override {
    return passes_with_last(prompt, o_.blocks.chunk, 1);
  }

  void attend(LayerStep& step) override {
    blocks_.begin(step);
    blocks_.attend(step, choose(step));
    blocks_.end(step, [&](const AgedBlock& block) { represent(step, block); });
  }

  size_t most_kv_bytes(const KvLayout& layout, int64_t tokens, int chunk) const override {
    size_t bytes = blocks_.most_kv_bytes(layout, tokens, chunk);
    for (const BlockIndex& layer : index_) {
      bytes += layer.bytes_for(tokens / o_.blocks.block, KeyVectors::type_for(layout.type));
    }
    return bytes;
  }

  size_t index_bytes() const override {
    size_t bytes = 0;
    for (const BlockIndex& layer : index_) bytes += layer.bytes();
    return bytes;
  }

  void save(ByteWriter& out) const override {
    blocks_.save(out);
    for (const BlockIndex& layer : index_) layer.save(out);
  }
  void restore(ByteReader& in) override {
    blocks_.restore(in);
    for (BlockIndex& layer : index_) layer.restore(in);
  }
  void check_restored(const KvStore& store, int64_t tokens) const override {
    const auto looks_up = [&](int l) { return shape_.own_window(l) == 0; };
    blocks_.check_restored(store, tokens, looks_up);
    const int64_t blocks = split_context(o_.blocks, tokens).blocks;
    for (int l = 0; l < shape_.layers; ++l) {
      const BlockIndex& index = index_[static_cast<size_t>(l)];
      if (index.blocks() != (looks_up(l) ? blocks : 0) ||
          !index.takes(KeyVectors::type_for(store.layout().type))) {
        user_error("layer {} has an index of blocks of another context", l);
      }
    }
  }

  int64_t reach(int64_t tokens, int) const override { return o_.blocks.reach(tokens); }

 private:
  /// By <mean query of the rows, representatives>.
  std::vector<int32_t> choose(const LayerStep& step) {
    if (!blocks_.retrieves()) return {};
    const int64_t width = shape_.heads * shape_.head_dim;
    const BlockIndex& index = index_[static_cast<size_t>(step.layer)];
    LH_ASSERT(index.blocks() == blocks_.split().blocks);
    query_.assign(static_cast<size_t>(width), 0.0f);
    for (int r = 0; r < step.rows; ++r) {
      for (int64_t i = 0; i < width; ++i) query_[static_cast<size_t>(i)] += step.q[r * width + i];
    }
    for (float& x : query_) x /= static_cast<float>(step.rows);
    blocks_.rotate_far(query_.data());
    return index.top(query_, o_.blocks.topk);
  }

  /// Appends the block to the layer's index: per query head its tokens with most votes.
  void represent(const LayerStep& step, const AgedBlock& block) {
    const int64_t dim = shape_.head_dim, heads = shape_.heads;
    std::vector<float> votes(static_cast<size_t>(o_.blocks.block));
    std::vector<float> key(static_cast<size_t>(dim)), value(key.size());
    std::vector<float> vectors(static_cast<size_t>(heads * vectors_ * dim));
    for (int64_t h = 0; h < heads; ++h) {
      for (size_t t = 0; t < votes.size(); ++t) {
        votes[t] = block.votes[t * static_cast<size_t>(heads) + static_cast<size_t>(h)];
      }
      const std::vector<int32_t> chosen = top_indices(votes, o_.repr);
      const float share = vectors_ == 1 ? 1.0f / static_cast<float>(chosen.size()) : 1.0f;
      float* to = vectors.data() + h * vectors_ * dim;
      for (const int32_t token : chosen) {
        step.store->read(step.layer, static_cast<int>(h) / step.group(), block.first + token,
                         key.data(), value.data());
        for (size_t t = 0; t < key.size(); ++t) to[t] += key[t] * share;
        if (vectors_ > 1) to += dim;
      }
    }
    index_[static_cast<size_t>(step.layer)].append(vectors,
                                                   KeyVectors::type_for(step.store->layout().type));
  }

  InfLlmOptions o_;
  ModelShape shape_;
  ContextBlocks blocks_;
  int64_t vectors_;                ///< of a block and query head
  std::vector<BlockIndex> index_;  ///< per layer, of raw keys
  std::vector<float> query_;
};

constexpr OptionInfo kOptions[] = {
    block_option::kInit,
    block_option::kLocal,
    {"block", OptionKind::kInteger, "128", "tokens", 1, 1 << 16, "", "tokens of a block"},
    block_option::kTopk,
    {"repr_topk", OptionKind::kInteger, "4", "tokens", 1, 1 << 10, "",
     "tokens that represent a block, those that got most attention"},
    {"repr_mode", OptionKind::kChoice, "mean", "", 0, 0, "mean|max",
     "a block counts by the mean of its representatives (code) or by the best (paper)"},
    block_option::kFidelity,
    block_option::kChunk,
    block_option::kCached,
};

std::unique_ptr<AttentionMethod> make(const MethodOptions& options, const ModelShape& shape) {
  InfLlmOptions o;
  o.blocks = block_options("infllm", options);
  o.repr = options.integer("repr_topk");
  o.best_repr = options.text("repr_mode") == "max";
  if (o.repr > o.blocks.block) {
    user_error("--attention infllm: repr_topk={}: a block has {} tokens", o.repr, o.blocks.block);
  }
  return std::make_unique<InfLlm>(o, shape);
}

}  // namespace

MethodInfo infllm_method() {
  MethodInfo info;
  info.name = "infllm";
  info.summary = "a window and the first tokens; older blocks in a slower tier, looked up by step";
  info.when = "texts far beyond memory and trained length, at nearly linear cost";
  info.keeps =
      "the first tokens and a window in fast memory, all older blocks in a slower tier; each step "
      "looks a few of them up";
  info.harms =
      "what must be read from many places at once, and blocks whose few representative keys do not "
      "show what they hold";
  info.paper =
      "Xiao et al. 2024, InfLLM: Training-Free Long-Context Extrapolation for LLMs with an "
      "Efficient Context Memory";
  info.options = kOptions;
  info.make = make;
  return info;
}

}  // namespace longhaul
