// DuoAttention (docs/methods/duo.md). Some KV heads (retrieval heads) keep all rows. The others
// (streaming heads) store only the first rows (sinks) and the most recent rows. Keys are at
// absolute positions.
//
// A row of a streaming head sees the sinks, and
//   dense_first_chunk: the last `recent` tokens before its pass and the pass up to itself (so the
//                      first pass is dense), as published;
//   strict_streaming:  the last `recent` tokens before itself, independent of the passes.
//
// Retrieval heads may use another method for the prefill, which computes only a part of the
// attention and keeps all rows (MInference in the paper's appendix A.7).

#include <algorithm>

#include "attention/methods/duo/gated_heads.h"
#include "attention/parts/planned_attention.h"
#include "attention/parts/wrapped_method.h"
#include "base/nth.h"

namespace longhaul {
namespace {

struct Duo final : WrappedMethod, PromptReader {
  enum class Prefill : uint8_t { kDenseFirstChunk, kStrictStreaming };
  std::string gates;
  double sparsity = 0.5;
  std::optional<double> threshold;
  int64_t sink = 64, recent = 256;
  Prefill prefill_mode = Prefill::kDenseFirstChunk;
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
    declare_dense(o, "prefill of retrieval heads").later = true;
    declare_dense_options(o, "options of that method, joined by +: vertical=500+slash=3000").later =
        true;
    o.needs([this] { return !gates.empty() || sparsity == 0 || sparsity == 1; },
            "gates or sparsity=0|1");
  }

  void fit(const ModelShape& shape) {
    if (shape.values_in_keys) {
      user_error(
          "--attention duo: the model stores one latent vector for all query heads of a layer, so "
          "there are no KV heads to tell apart; methods that choose rows work, as do snapkv, "
          "pyramidkv and tova");
    }
    wrap(spec().make_method(shape));
    whole.rewinds = false;
    whole.when = When::kEveryPass;
    if (!gates.empty()) {
      const HeadGates read = read_gates(gates, shape.all_kv_heads());
      full_ = shape.of_own_heads(threshold ? full_by_threshold(read, *threshold)
                                           : full_by_sparsity(read, sparsity));
    } else {
      full_ = all_heads(shape.kv_heads, sparsity == 0);
    }
    for (size_t layer = 0; layer < full_.size(); ++layer) {
      // If the model itself has a window in a layer, all heads of this layer keep all rows, because
      // the window already limits the work.
      if (shape.window[layer] > 0) full_[layer].assign(full_[layer].size(), 1);
    }
    streaming_ = full_;
    for (auto& heads : streaming_) {
      for (uint8_t& head : heads) head = head ? 0 : 1;
    }
  }

  ListPlan plan(int layer, int kv_head, int64_t tokens) const override {
    if (nth(nth(full_, layer), kv_head)) {
      ListPlan plan = WrappedMethod::plan(layer, kv_head, tokens);
      plan.keep.all = true;
      return plan;
    }
    const bool strict = prefill_mode == Prefill::kStrictStreaming;
    return {.keep = {.sink = sink, .recent = recent},
            .see = {.sink = sink, .window = recent + (strict ? 1 : 0), .strict = strict}};
  }

  void attend(LayerStep& step) override {
    if (is_full() || step.decoding()) return attend_by_plan(step);
    const auto some = [](std::span<const uint8_t> heads) {
      return std::ranges::count(heads, 1) > 0;
    };
    step.only = nth(full_, step.layer);
    if (some(step.only)) WrappedMethod::attend(step);
    step.only = nth(streaming_, step.layer);
    if (some(step.only)) attend_by_plan(step);
    step.only = {};
  }

 private:
  FullHeads full_, streaming_;
};

}  // namespace

MethodInfo duo_method() {
  MethodInfo info = method_info<Duo>({.name = "duo"});
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
  return info;
}

}  // namespace longhaul
