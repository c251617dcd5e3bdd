// InfLLM (Xiao et al. 2024; docs/methods/infllm.md): rows see a window, the first tokens, and
// selected blocks of older tokens. A block is represented by the keys of the tokens that received
// most attention while they were in the window. Every layer selects blocks in every step (one layer
// in one pass), by the dot products of queries and these keys.

#include "attention/methods/infllm/block_index.h"
#include "attention/methods/infllm/block_representatives.h"
#include "attention/parts/context_blocks.h"
#include "attention/parts/passes.h"
#include "attention/registry.h"
#include "base/error.h"
#include "base/nth.h"
#include "ops/core/mean_rows.h"

namespace longhaul {
namespace {

class InfLlm final : public Method {
 public:
  enum class Repr : uint8_t { kMean, kMax };
  BlockOptions sizes;
  int64_t repr = 4;  ///< number of tokens that represent a block, per query head
  Repr mode = Repr::kMean;
  void declare(OptionList& o) {
    sizes.declare_sizes(o, 1 << 16);
    o.integer(repr, "repr_topk", 1, 1 << 10, "tokens",
              "tokens that represent a block, those that got most attention");
    o.choice(mode, "repr_mode", {"mean", "max"},
             "a block counts by the mean of its representatives (code) or by the best (paper)");
    sizes.declare_fidelity(o);
    sizes.declare_chunk(o);
    sizes.declare_cached(o);
  }

  void fit(const ModelShape& shape) {
    shape_ = shape;
    sizes.fit(shape);
    blocks_ = {sizes, shape};
    whole = ContextBlocks::method_plan();
    vectors_ = mode == Repr::kMax ? std::min(repr, sizes.block) : 1;
    for (int l = 0; l < shape.layers; ++l) {
      index_.emplace_back(shape.heads, vectors_, shape.dim_of(l));
    }
    sizes.check("infllm");
    if (repr <= sizes.block) return;
    user_error("--attention infllm: repr_topk={}: a block has {} tokens", repr, sizes.block);
  }

  ListPlan plan(int, int, int64_t) const override { return blocks_.plan(); }

  std::vector<Pass> passes(const PromptFacts& prompt) override {
    blocks_.begin_prompt(prompt);
    return passes_with_last(prompt, 0, sizes.chunk, 1);
  }

  void attend(LayerStep& step) override {
    if (step.all != nullptr) blocks_.begin_layer(*step.all);
    blocks_.begin(step);
    if (!blocks_.retrieves()) {
      blocks_.attend(step, {});
    } else {
      blocks_.attend(step, choose_blocks(step));
    }
  }

  void observe(LayerStep& step) override {
    if (blocks_.retrieves()) {
      blocks_.vote(step);
      if (blocks_.aged() > 0) represent(step, blocks_.aged());
    }
    blocks_.end(step);
  }

  StoreCheck archive(Archive& archive) override {
    blocks_.archive(archive);
    for (BlockIndex& layer : index_) layer.archive(archive);
    return [this](const KvStore& store, int64_t tokens) { check(store, tokens); };
  }

  ExtraMemory extra_memory(const KvLayout& layout, int64_t tokens, int chunk) const override {
    ExtraMemory memory{.working = blocks_.working_bytes(std::min<int64_t>(tokens, chunk))};
    for (const BlockIndex& layer : index_) {
      memory.index += layer.bytes();
      memory.most_index += blocks_.vote_bytes();
      memory.most_index +=
          layer.bytes_for(tokens / sizes.block, KeyVectors::type_for(layout.type.k));
    }
    return memory;
  }

 private:
  void check(const KvStore& store, int64_t tokens) const {
    const auto looks_up = [&](int l) { return shape_.own_window(l) == 0; };
    const DType type = KeyVectors::type_for(store.layout().type.k);
    blocks_.check(store, tokens, looks_up, [&](int l, int64_t blocks) {
      return nth(index_, l).blocks() == blocks && nth(index_, l).takes(type);
    });
  }

  BlockIndex& index(const LayerStep& step) { return nth(index_, step.layer); }

  /// Selects the blocks with the highest scores for the mean query of the step's rows
  /// (BlockIndex::top()).
  RowList choose_blocks(const LayerStep& step) {
    LH_ASSERT(index(step).blocks() == blocks_.split().blocks);
    return index(step).top(*step.queue, mean_query(step), sizes.topk, search_);
  }
  /// Returns the mean query of the step's rows. All rows are rotated by the same angle, so the mean
  /// of the rotated queries is the rotated mean.
  View<const float> mean_query(const LayerStep& step) {
    const View<const float> rows = blocks_.far_q();
    if (step.rows == 1) return rows;
    const View<float> mean = query_.resize(*step.queue, rows.size() / step.rows);
    mean_rows(*step.queue, rows, mean);
    return mean;
  }

  /// Appends `blocks` blocks that leave the remainder to the layer's index.
  void represent(LayerStep& step, int64_t blocks) {
    Queue& queue = *step.queue;
    const AgedBlocks aged = blocks_.aged(step, 0, blocks);
    const int64_t width = shape_.heads * vectors_ * int64_t{step.head_dim()};
    const View<float> vectors = block_.resize(queue, blocks * width);
    // With a single representative, its key and the mean are equal.
    block_representatives(
        queue, {step.lists(), aged.first, aged.votes, shape_.heads, repr, vectors_ == 1, blocks},
        representatives_, vectors);
    index(step).append(queue, vectors, KeyVectors::type_for(step.store->layout().type.k));
  }

  ModelShape shape_;
  ContextBlocks blocks_;
  int64_t vectors_ = 1;            ///< number of vectors per block and query head
  std::vector<BlockIndex> index_;  ///< per layer: index of keys without rotation
  Array<float> query_, block_;
  BlockSearch search_;
  RepresentativesMemory representatives_;
};

}  // namespace

MethodInfo infllm_method() {
  MethodInfo info = method_info<InfLlm>({.name = "infllm"});
  info.looks_up = true;
  info.summary = "a window and the first tokens; older blocks offloaded, looked up by step";
  info.when = "texts far beyond memory and trained length, at nearly linear cost";
  info.keeps =
      "the first tokens and a window in fast memory, all older blocks offloaded to a file; each "
      "step "
      "looks a few of them up";
  info.harms =
      "what must be read from many places at once, and blocks whose few representative keys do not "
      "show what they hold";
  info.paper =
      "Xiao et al. 2024, InfLLM: Training-Free Long-Context Extrapolation for LLMs with an "
      "Efficient Context Memory";
  info.covers = {"", "n_init=0,n_local=700,chunk=33"};
  info.small = {
      {"n_init=8,n_local=64,block=16,topk=2,chunk=32,cached=4", 64},
      {"n_init=3,n_local=12,block=4,topk=2,cached=3,chunk=8,repr_topk=2", 12},
      {"n_init=3,n_local=12,block=4,topk=2,cached=3,chunk=8,repr_topk=2,repr_mode=max", 12}};
  return info;
}

}  // namespace longhaul
