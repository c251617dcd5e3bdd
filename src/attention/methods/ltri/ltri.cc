// Ltri-LLM (Tang et al. 2024; docs/methods/ltri.md): rows see a window, the first tokens and
// selected blocks of older tokens, as in InfLLM, but blocks are selected in another way. In each
// block, spans are selected whose tokens attend to each other. A span is represented in the index
// by the keys of its tokens with most attention, more of them if the neighbours of the span contain
// little information about it. Only retrieval heads search the index. A layer uses the blocks for
// which the retrieval heads of this and earlier layers vote.

#include "attention/methods/ltri/block_votes.h"
#include "attention/methods/ltri/context_map.h"
#include "attention/methods/ltri/ltri_options.h"
#include "attention/parts/context_blocks.h"
#include "attention/parts/passes.h"
#include "attention/registry.h"
#include "base/error.h"
#include "base/nth.h"
#include "ops/blocks/block_rows.h"
#include "ops/choose/select_rows.h"
#include "ops/core/all_reduce.h"
#include "ops/core/fill.h"

namespace longhaul {
namespace {

class Ltri final : public Method {
 public:
  void declare(OptionList& o) { given_.declare(o); }
  void fit(const ModelShape& shape) {
    o_ = given_.in_form();
    o_.blocks.fit(shape);
    rules_ = ltri_layers(o_, shape);
    shape_ = shape;
    blocks_ = {o_.blocks, shape};
    whole = ContextBlocks::method_plan();
    for (const LtriLayer& layer : rules_) {
      maps_.emplace_back(o_.blocks);
      layers_.push_back({SpanIndex(layer.rule.spans, o_.mean_index ? 1 : layer.rule.most)});
    }
  }

  ListPlan plan(int, int, int64_t) const override { return blocks_.plan(); }

  std::vector<Pass> passes(const PromptFacts& prompt) override {
    blocks_.begin_prompt(prompt);
    return passes_with_last(prompt, 0, o_.blocks.chunk, o_.last);
  }

  void attend(LayerStep& step) override {
    if (step.all != nullptr) begin_layer(*step.all);
    blocks_.begin(step);
    if (step.layer == 0) begin_votes(step);
    see(step);
  }

  void observe(LayerStep& step) override {
    if (rule(step.layer).looks_up) {
      blocks_.vote(step);
      map(step).add(blocks_.window_rows(step), maps_memory_);
      if (blocks_.aged() > 0) add_blocks(step, blocks_.aged(step, 0, blocks_.aged()));
      map(step).drop(step.begin, step.begin + step.rows);
    }
    blocks_.end(step);
  }

  StoreCheck archive(Archive& archive) override {
    blocks_.archive(archive);
    for (ContextMap& map : maps_) map.archive(archive);
    for (size_t l = 0; l < layers_.size(); ++l) {
      Layer& layer = layers_[l];
      layer.index.archive(archive, width(static_cast<int>(l)));
      layer.chosen.archive(archive);
      archive.number(layer.known);
      if (!archive.loading()) continue;
      archive.expect(layer.known >= 0 && layer.chosen.makes_sense(o_.blocks.topk, layer.known),
                     "blocks out of order");
    }
    return [this](const KvStore& store, int64_t tokens) { check(store, tokens); };
  }

  ExtraMemory extra_memory(const KvLayout& layout, int64_t tokens, int chunk) const override {
    ExtraMemory memory{.working = blocks_.working_bytes(std::min<int64_t>(tokens, chunk))};
    const BlockOptions& b = o_.blocks;
    for (int l = 0; l < shape_.layers; ++l) {
      memory.index += nth(layers_, l).index.bytes();
      if (!rule(l).looks_up) continue;
      const int64_t vectors = std::min<int64_t>(o_.vectors + o_.spans, b.block);
      memory.most_index +=
          SlidingRows::bytes_for(blocks_.most_remainder(), b.block) + blocks_.vote_bytes() +
          bytes_of(index_type(l, layout.type.k), tokens / b.block * vectors * width(l));
    }
    return memory;
  }

 private:
  struct Layer {
    SpanIndex index;
    StoredList chosen;  ///< blocks that the last search selected
    int32_t known = 0;  ///< number of blocks at that time
  };

  void check(const KvStore& store, int64_t tokens) const {
    const auto looks_up = [&](int l) { return rule(l).looks_up; };
    blocks_.check(store, tokens, looks_up, [&](int l, int64_t blocks) {
      const Layer& layer = nth(layers_, l);
      const bool own = layer.index.blocks() == (has_list(l) ? blocks : 0) &&
                       nth(maps_, l).fits(tokens) &&
                       layer.index.takes(index_type(l, store.layout().type.k));
      return layer.known <= blocks && (own || !looks_up(l));
    });
  }

  void begin_layer(LayerStep& all) {
    blocks_.begin_layer(all);
    divided_ = false;
    const int64_t most_blocks = split_context(o_.blocks, all.begin + all.rows).blocks;
    const bool at_ends = !all.of_several() || all.pass.count % o_.blocks.block == 0;
    if (at_ends && most_blocks > o_.blocks.topk && looks_up_by_spans(all)) {
      divide_rows(all);
      divided_ = true;
    }
  }

  Layer& at(const LayerStep& step) { return nth(layers_, step.layer); }
  BlockVotes& votes(const LayerStep& step) { return nth(votes_, step.nth_pass); }
  void begin_votes(const LayerStep& step) {
    if (step.nth_pass == std::ssize(votes_)) votes_.emplace_back();
    votes(step).clear(*step.queue, blocks_.split().blocks);
  }
  ContextMap& map(const LayerStep& step) { return nth(maps_, step.layer); }
  const LtriLayer& rule(int layer) const { return nth(rules_, layer); }

  /// Returns the index of the layer's retrieval head among the heads of this device.
  int own_head(int layer) const {
    const int head = rule(layer).head;
    return head < 0 ? head : head - shape_.rank * shape_.heads;
  }
  /// Returns whether the keys that the layer's searches use are on this device. This is false only
  /// if another device has the retrieval head. The scores then come from that device.
  bool has_list(int layer) const {
    return rule(layer).head < 0 || (own_head(layer) >= 0 && own_head(layer) < shape_.heads);
  }
  /// Returns the votes [tokens, heads] from which spans and their tokens are selected. Only their
  /// sum over all heads is used. If several devices share the model, head h has the sum of the
  /// votes of the heads h of all devices.
  View<const float> votes_of_all(Queue& queue, View<const float> votes) {
    if (queue.communicator() == nullptr) return votes;
    const View<float> all = all_votes_.resize(queue, votes.size());
    copy(queue, votes, all);
    all_reduce(queue, all);
    return all;
  }
  /// Returns the number of elements of an index vector of the layer: head_dim, or head_dim times
  /// the number of KV heads.
  int64_t width(int layer) const {
    return int64_t{rule(layer).head >= 0 ? 1 : shape_.lists(layer)} * shape_.dim_of(layer);
  }
  /// Returns the type of index vectors for keys of type `keys`. It is F32 if keys are F32.
  /// Otherwise it is BF16 in layers with a retrieval head. In layers without one, vectors contain
  /// the keys of all heads, and every search reads all of them. They therefore have 4 bits if their
  /// width allows it.
  DType index_type(int layer, DType keys) const {
    const bool fits = width(layer) % traits(DType::Q4_0).block_size == 0;
    if (rule(layer).head < 0 && keys != DType::F32 && fits) return DType::Q4_0;
    return KeyVectors::type_for(keys);
  }

  /// Selects blocks for the layer and computes the attention of the step.
  void see(LayerStep& step) {
    Layer& layer = at(step);
    const int64_t blocks = blocks_.retrieves() ? blocks_.split().blocks : 0;
    const bool few = blocks <= o_.blocks.topk, looks_up = rule(step.layer).looks_up;
    const bool keeps = step.decoding() && o_.decode == LtriDecode::kPersistent;
    LH_ASSERT(layer.known <= blocks);
    LH_ASSERT(!looks_up || !has_list(step.layer) || layer.index.blocks() == blocks);
    if (few) {
      layer.chosen.set_first(blocks);
      blocks_.attend(step, layer.chosen.list());
    } else if (keeps) {
      blocks_.attend(step, with_new_blocks(step, blocks));
    } else if (looks_up) {
      layer.chosen.set(*step.queue, look_up(step));
      blocks_.attend(step, layer.chosen.list());
    } else {
      layer.chosen.set(*step.queue, votes(step).any()
                                        ? votes(step).best(*step.queue, o_.blocks.topk)
                                        : RowList());
      blocks_.attend(step, layer.chosen.list());
    }
    if (few || !keeps) layer.known = static_cast<int32_t>(blocks);
  }

  /// Returns the blocks that the last search selected, and the newest of the blocks that have left
  /// the remainder since then. Without the latter, the end of the text would become invisible while
  /// the reply is generated.
  RowList with_new_blocks(const LayerStep& step, int64_t blocks) {
    const int64_t most = std::max<int64_t>(1, o_.blocks.cached - o_.blocks.topk);
    const int64_t first = std::max<int64_t>(at(step).known, blocks - most);
    return with_run(*step.queue, at(step).chosen.list(), first, blocks, shown_);
  }

  RowList look_up(LayerStep& step) {
    Queue& queue = *step.queue;
    const LtriLayer& rule = this->rule(step.layer);
    const View<float> scores = scores_.resize(queue, blocks_.split().blocks);
    find_queries(step);
    SpanIndex& index = at(step).index;
    if (rule.head < 0 && queue.communicator() != nullptr) {
      index.scores_of_ranks(queue, queries_, o_.similarity, search_, scores);
    } else {
      // Only the device with the retrieval head has the scores.
      has_list(step.layer) ? index.scores(queue, queries_, o_.similarity, search_, scores)
                           : fill(queue, scores, 0);
      all_reduce(queue, scores);
    }
    const RowList best = select_rows(queue, scores, {.count = o_.blocks.topk}, best_);
    if (rule.head < 0) return best;
    votes(step).add(queue, best, rule.weight, scores);
    return o_.vote ? votes(step).best(queue, o_.blocks.topk) : best;
  }

  /// Selects spans in the blocks that leave the remainder, and adds the blocks to the layer's
  /// index.
  void add_blocks(LayerStep& step, const AgedBlocks& aged) {
    Queue& queue = *step.queue;
    const int head = own_head(step.layer), block = static_cast<int>(o_.blocks.block);
    const int64_t tokens = aged.votes.size() / shape_.heads;
    SpanTokenRule rule = this->rule(step.layer).rule;
    if (o_.mean_index) rule.most = block, rule.lambda = 0;  // all tokens of a span
    const View<const float> votes = votes_of_all(queue, aged.votes);
    choose_span_tokens(queue,
                       {tokens, block, map(step).of(aged.first, tokens / block, step.begin), votes},
                       rule, tokens_);
    if (!has_list(step.layer)) return;
    std::span<const PagedRows> lists = step.lists();
    if (head >= 0) lists = lists.subspan(static_cast<size_t>(head / step.group()), 1);
    const View<float> keys = gather_span_keys(queue, lists, aged.first, block, tokens_, keys_);
    const DType type = index_type(step.layer, step.store->layout().type.k);
    if (!o_.mean_index) return at(step).index.add_blocks(queue, tokens_, keys, type);
    mean_of_spans(queue, tokens_, keys, means_);
    at(step).index.add_blocks(queue, means_.tokens, means_.keys.view(), type);
  }

  bool looks_up_by_spans(const LayerStep& step) const {
    return o_.queries == LtriQueries::kSpans && step.rows > 1 && rule(step.layer).looks_up;
  }

  /// Divides the query rows into parts of `block` rows and selects spans in each part, by the
  /// attention of the part's rows to each other. This attention is also used as votes.
  void divide_rows(LayerStep& rows) {
    blocks_.attend_near(rows);
    const int block = static_cast<int>(o_.blocks.block);
    const View<const float> maps = maps_of_rows(blocks_.window_rows(rows), block, maps_memory_);
    choose_span_tokens(*rows.queue, {rows.rows, block, maps, {}}, rule(rows.layer).rule,
                       row_tokens_);
  }

  /// Returns the parts of divide_rows() that belong to the step, if the rows of the whole group of
  /// passes were divided and the step begins and ends at part boundaries. Otherwise divides the
  /// step's rows separately.
  SomeBlocks parts_of(LayerStep& step) {
    const int64_t block = o_.blocks.block, before = step.begin - step.together_begin;
    const bool at_ends = before % block == 0 && (step.rows % block == 0 || step.ends_together());
    if (!divided_ || !at_ends) {
      divided_ = false;
      divide_rows(step);
      return {0, row_tokens_.blocks()};
    }
    return {before / block, (step.rows + block - 1) / block};
  }

  /// Computes the query vectors of a search: those of the last `query_rows` rows, or those of the
  /// tokens that represent the spans of the step's rows. With kSum, the vectors of a span are
  /// summed. The dot products of this sum and the keys, added up, equal the double sum over queries
  /// and keys in the paper.
  void find_queries(LayerStep& step) {
    const SpanQueries queries{.q = blocks_.far_q(),
                              .heads = shape_.heads,
                              .kv_heads = step.kv_heads,
                              .head_dim = step.head_dim(),
                              .head = own_head(step.layer),
                              .sum_of_span = o_.similarity == SpanSimilarity::kSum};
    if (!looks_up_by_spans(step)) {
      const int64_t first = std::max<int64_t>(0, step.rows - o_.query_rows);
      if (has_list(step.layer)) set_row_queries(*step.queue, queries, first, step.rows, queries_);
      return;
    }
    const int block = static_cast<int>(o_.blocks.block);
    const SomeBlocks parts = parts_of(step);
    if (has_list(step.layer)) {
      set_span_queries(*step.queue, queries, block, row_tokens_, parts, queries_);
    }
  }

  LtriOptions given_;
  LtriOptions o_;  ///< given_.in_form()
  std::vector<LtriLayer> rules_;
  ModelShape shape_;
  ContextBlocks blocks_;
  std::vector<ContextMap> maps_;  ///< per layer
  std::vector<Layer> layers_;
  std::vector<BlockVotes> votes_;  ///< votes of the retrieval heads, per pass of the group

  // Buffers of a search.
  Array<float> scores_, all_votes_;
  Array<int32_t> shown_;
  MapMemory maps_memory_;
  bool divided_ = false;   ///< whether row_tokens_ covers the whole group of passes
  SpanTokens row_tokens_;  ///< tokens of query rows that search
  SpanTokens tokens_;      ///< tokens of blocks that leave the remainder
  Array<float> keys_;
  SpanMeans means_;
  VectorList queries_;
  SpanSearch search_;
  RowSelection best_;
};

}  // namespace

MethodInfo ltri_method() {
  MethodInfo info = method_info<Ltri>({.name = "ltri"});
  info.looks_up = true;
  info.summary =
      "InfLLM's window and blocks, looked up by retrieval heads through spans of meaning";
  info.when = "finding facts in texts far beyond memory and trained length, at nearly linear cost";
  info.keeps =
      "the first tokens and a window in fast memory, all older blocks offloaded to a file; "
      "retrieval "
      "heads choose what each step looks up";
  info.harms =
      "models whose retrieval heads are not known ('longhaul heads' finds them), and what must be "
      "read from many places at once";
  info.paper =
      "Tang et al. 2024, Ltri-LLM: Streaming Long Context Inference for LLMs with Training-Free "
      "Dynamic Triangular Attention Pattern";
  info.covers = {"", "n_init=0,n_local=700,chunk=33,heads=0.0"};
  info.small = {
      {"n_init=8,n_local=64,block=16,topk=2,chunk=32,cached=4", 64},
      {"form=paper,n_init=3,n_local=12,block=4,topk=2,cached=3,chunk=8,last=8,queries=spans", 12},
      {"form=paper,index=mean,n_init=3,n_local=12,block=4,topk=2,cached=3,chunk=8,last=8", 12},
      {"form=longhaul,n_init=3,n_local=12,block=4,topk=2,cached=3,chunk=8,last=8", 12}};
  return info;
}

}  // namespace longhaul
