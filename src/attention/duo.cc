// DuoAttention: KV heads that retrieve keep everything, the others stream: sinks and recent tokens,
// in lists that really are that short (docs/methods/duo.md). Keys stand at their absolute
// positions.
//
// A streaming head's row sees the sinks, and
//   dense_first_chunk: the last `recent` tokens before its pass and the pass up to itself (so the
//                      first pass is dense), as published;
//   strict_streaming:  the last `recent` tokens before itself, whatever the passes.

#include <algorithm>

#include "attention/duo_gates.h"
#include "attention/registry.h"
#include "attention/restored_lists.h"
#include "attention/sink_recent.h"

namespace longhaul {
namespace {

class Duo final : public AttentionMethod {
 public:
  Duo(const MethodOptions& options, const ModelShape& shape)
      : sink_(options.integer("sink")),
        recent_(options.integer("recent")),
        strict_(options.text("prefill_mode") == "strict_streaming") {
    const std::string& file = options.text("gates");
    const double sparsity = options.real("sparsity");
    const std::optional<double> threshold = options.optional_real("threshold");
    if (!file.empty()) {
      const HeadGates gates = read_gates(file, shape.kv_heads);
      full_ = threshold ? full_by_threshold(gates, *threshold) : full_by_sparsity(gates, sparsity);
    } else {
      full_ = all_heads(shape.kv_heads, sparsity == 0);
    }
    for (size_t layer = 0; layer < full_.size(); ++layer) {
      // Such a layer forgets nothing here: its work is bounded by the model's own window.
      if (shape.window[layer] > 0) full_[layer].assign(full_[layer].size(), true);
    }
  }

  void attend(LayerStep& step) override {
    const float* queries[] = {step.rotated_q()};
    step.store->append(step.layer, step.rows, step.rotated_k(), step.v);
    segments_.clear();
    for (int head = 0; head < step.kv_heads; ++head) {
      if (full(step.layer, head)) {
        segments_.push_back(step.all_keys(head));
        segments_.emplace_back(segments_.back()).count = 0;
      } else {
        add_streaming(step, head);
      }
    }
    step.attend(queries, segments_, 2);
  }

  void retain(KvStore& store, const Pass&, bool) override {
    for (int layer = 0; layer < store.layout().layers(); ++layer) {
      for (int head = 0; head < store.layout().heads[static_cast<size_t>(layer)]; ++head) {
        if (!full(layer, head)) drop_middle(store, layer, head, sink_, recent_);
      }
    }
  }

  int numbers_per_row() const override { return 1; }  // its token
  size_t most_kv_bytes(const KvLayout& layout, int64_t tokens, int chunk) const override {
    const int64_t streamed = std::min(tokens, most_rows(layout, sink_, recent_, chunk));
    size_t bytes = 0;
    for (const auto& layer : full_) {
      for (const bool keeps_all : layer) {
        bytes += layout.bytes_for(keeps_all ? tokens : streamed) /
                 static_cast<size_t>(layout.all_heads());
      }
    }
    return bytes;
  }

  void check_restored(const KvStore& store, int64_t tokens) const override {
    for (int layer = 0; layer < store.layout().layers(); ++layer) {
      for (int head = 0; head < store.layout().heads[static_cast<size_t>(layer)]; ++head) {
        if (full(layer, head)) expect_length(store, layer, head, tokens);
      }
      expect_in_memory(store, layer, 0, tokens);
    }
  }

 private:
  bool full(int layer, int head) const {
    return full_[static_cast<size_t>(layer)][static_cast<size_t>(head)];
  }

  void add_streaming(const LayerStep& step, int head) {
    const int64_t after = step.store->length(step.layer, head);
    const int64_t before = after - step.rows;
    const int64_t dropped = step.begin - before;  // tokens: row i >= sink is token i + dropped
    KeySegment sink, near;
    sink.rows = near.rows = step.store->rows(step.layer, head);
    sink.count = std::min(sink_, after);
    near.begin = std::max<int64_t>(0, before - recent_);
    if (strict_) {
      sink.visible = Visibility::kBeyond;  // a sink within the window is counted there
      near.visible = Visibility::kWindow;
      sink.window = near.window = recent_ + 1;
    } else {
      near.begin = std::max(near.begin, sink_);
    }
    near.position = near.begin + dropped;
    near.count = std::max<int64_t>(0, after - near.begin);
    segments_.push_back(sink);
    segments_.push_back(near);
  }

  int64_t sink_, recent_;  // tokens
  bool strict_;
  FullHeads full_;
  std::vector<KeySegment> segments_;
};

constexpr OptionInfo kOptions[] = {
    {"gates", OptionKind::kFile, "", "", 0, 0, "",
     "TSV of trained gates: a row per layer, a column per KV head"},
    {"sparsity", OptionKind::kReal, "0.5", "", 0, 1, "",
     "share of KV heads that stream, those with the lowest gates", "no threshold"},
    {"threshold", OptionKind::kReal, "auto", "", 0, 1, "",
     "heads with at least this gate keep everything; auto: by sparsity", "gates"},
    {"sink", OptionKind::kInteger, "64", "tokens", 0, 1 << 20, "",
     "first tokens that streaming heads keep"},
    {"recent", OptionKind::kInteger, "256", "tokens", 1, 1 << 24, "",
     "last tokens that streaming heads keep"},
    {"prefill_mode", OptionKind::kChoice, "dense_first_chunk", "", 0, 0,
     "dense_first_chunk|strict_streaming",
     "whether rows of a pass see it up to themselves, or recent tokens only"},
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
  info.options = kOptions;
  info.needs = "gates or sparsity=0|1";
  info.make = [](const MethodOptions& o, const ModelShape& s) -> std::unique_ptr<AttentionMethod> {
    return std::make_unique<Duo>(o, s);
  };
  return info;
}

}  // namespace longhaul
