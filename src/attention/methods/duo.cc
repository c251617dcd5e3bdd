// DuoAttention: KV heads that retrieve keep everything, the others stream: sinks and recent tokens,
// in lists that really are that short (docs/methods/duo.md). Keys stand at their absolute
// positions.
//
// A streaming head's row sees the sinks, and
//   dense_first_chunk: the last `recent` tokens before its pass and the pass up to itself (so the
//                      first pass is dense), as published;
//   strict_streaming:  the last `recent` tokens before itself, whatever the passes.
//
// Retrieval heads may read a prompt by a method that keeps everything and computes less (the
// paper's appendix A.7 has MInference).

#include "attention/method_spec.h"
#include "attention/parts/head_gates.h"

namespace longhaul {
namespace {

class Duo final : public Method {
 public:
  enum class Prefill : uint8_t { kDenseFirstChunk, kStrictStreaming };
  enum class DenseBy : uint8_t { kFull, kMInference, kFlexPrefill, kXAttention };
  struct Options {
    std::string gates;
    double sparsity = 0.5;
    std::optional<double> threshold;
    int64_t sink = 64, recent = 256;
    Prefill prefill_mode = Prefill::kDenseFirstChunk;
    DenseBy dense = DenseBy::kFull;
    std::string dense_options;
    void declare(OptionList& o) {
      o.file(gates, "gates", "TSV of trained gates: a row per layer, a column per KV head");
      o.real(sparsity, "sparsity", 0, 1, "",
             "share of KV heads that stream, those with the lowest gates")
          .only([this] { return !threshold; }, "no threshold", "threshold");
      o.real(threshold, "threshold", 0, 1, "",
             "heads with at least this gate keep everything; auto: by sparsity")
          .only([this] { return !gates.empty(); }, "gates", "gates");
      o.integer(sink, "sink", 0, 1 << 20, "tokens", "first tokens that streaming heads keep");
      o.integer(recent, "recent", 1, 1 << 24, "tokens", "last tokens that streaming heads keep");
      o.choice(prefill_mode, "prefill_mode", {"dense_first_chunk", "strict_streaming"},
               "whether rows of a pass see it up to themselves, or recent tokens only");
      o.choice(dense, "dense", {"full", "minference", "flexprefill", "xattention"},
               "how retrieval heads read a prompt")
          .added_later();
      o.method_options(dense_options, "dense_options", "dense",
                       "options of that method, joined by +: vertical=500+slash=3000")
          .only([this] { return dense != DenseBy::kFull; }, "dense!=full", "dense")
          .added_later();
      o.needs([this] { return !gates.empty() || sparsity == 0 || sparsity == 1; },
              "gates or sparsity=0|1");
    }
  };

  Duo(const Options& options, const ModelShape& shape) : o_(options) {
    if (!o_.gates.empty()) {
      const HeadGates gates = read_gates(o_.gates, shape.kv_heads);
      full_ = o_.threshold ? full_by_threshold(gates, *o_.threshold)
                           : full_by_sparsity(gates, o_.sparsity);
    } else {
      full_ = all_heads(shape.kv_heads, o_.sparsity == 0);
    }
    for (size_t layer = 0; layer < full_.size(); ++layer) {
      // Such a layer forgets nothing here: its work is bounded by the model's own window.
      if (shape.window[layer] > 0) full_[layer].assign(full_[layer].size(), 1);
    }
    constexpr const char* kDense[] = {"dense", "minference", "flexprefill", "xattention"};
    const char* name = kDense[static_cast<size_t>(o_.dense)];
    full_heads_ = MethodSpec::parse_part(name, o_.dense_options).make_method(shape);
  }

  Plan plan(int layer, int kv_head, int64_t tokens) const override {
    if (full_[static_cast<size_t>(layer)][static_cast<size_t>(kv_head)]) {
      Plan plan = full_heads_->plan(layer, kv_head, tokens);
      plan.rewinds = false;
      return plan;
    }
    const bool strict = o_.prefill_mode == Prefill::kStrictStreaming;
    Plan plan;
    plan.keep = {.when = When::kEveryPass, .sink = o_.sink, .recent = o_.recent};
    plan.see = {.sink = o_.sink, .window = o_.recent + (strict ? 1 : 0), .strict = strict};
    return plan;
  }

  std::vector<Pass> passes(const PromptFacts& prompt) override {
    return full_heads_->passes(prompt);
  }

  void attend(LayerStep& step) override {
    if (o_.dense == DenseBy::kFull || step.decoding()) return Method::attend(step);
    const std::vector<uint8_t>& full = full_[static_cast<size_t>(step.layer)];
    streaming_.assign(full.size(), 0);
    bool some_full = false, some_stream = false;
    for (size_t head = 0; head < full.size(); ++head) {
      streaming_[head] = full[head] ? 0 : 1;
      (full[head] ? some_full : some_stream) = true;
    }
    step.only = full;
    if (some_full) full_heads_->attend(step);
    step.only = streaming_;
    if (some_stream) Method::attend(step);
    step.only = {};
  }

  void after_pass(std::span<KvStore> streams, const Pass& pass) override {
    full_heads_->after_pass(streams, pass);
  }
  void archive(Archive& archive) override { full_heads_->archive(archive); }
  Beside beside(const KvLayout& layout, int64_t tokens, int chunk) const override {
    return full_heads_->beside(layout, tokens, chunk);
  }

 private:
  Options o_;
  FullHeads full_;
  std::vector<uint8_t> streaming_;  // of the step's layer
  std::unique_ptr<Method> full_heads_;
};

}  // namespace

MethodInfo duo_method() {
  MethodInfo info;
  info.name = "duo";
  info.summary = "retrieval heads keep every key, streaming heads the first and the recent ones";
  info.when =
      "half the memory and time of dense at its accuracy, where trained gates exist ('longhaul "
      "heads' writes gates for other models)";
  info.keeps =
      "every key in retrieval heads; in streaming heads the first `sink` and the last `recent` "
      "tokens, the rest is gone for good there";
  info.harms =
      "models without gates of their own, and gates with too few full heads: what only a streaming "
      "head would have found is lost";
  info.paper =
      "Xiao et al. 2024, DuoAttention: Efficient Long-Context LLM Inference with Retrieval and "
      "Streaming Heads";
  info.covers = {"sparsity=0", "sparsity=1,recent=700",
                 "sparsity=1,sink=300,recent=400,prefill_mode=strict_streaming",
                 "sparsity=0,dense=minference"};
  info.small = {{"sparsity=1,recent=60", kNoBound, true},
                {"sparsity=1,sink=2,recent=8", kNoBound, true},
                {"sparsity=1,sink=4,recent=60,prefill_mode=strict_streaming", kNoBound, true},
                {"sparsity=0,dense=minference,dense_options=dense_below=0+vertical=8+slash=8",
                 kNoBound, true}};
  return method_info<Duo>(std::move(info));
}

}  // namespace longhaul
