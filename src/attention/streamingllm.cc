// StreamingLLM: the first tokens of the context (attention sinks) and the most recent ones, at
// positions within the kept list, so that no distance ever grows beyond it
// (docs/methods/streamingllm.md).
//
// Rows of one pass see the list as it was kept before the pass and the pass's own rows up to
// themselves; eviction follows the pass. Passes of one row are exact token-by-token streaming.

#include <algorithm>

#include "attention/registry.h"
#include "attention/sink_recent_method.h"

namespace longhaul {
namespace {

class StreamingLlm final : public SinkRecentMethod {
 public:
  using SinkRecentMethod::SinkRecentMethod;

  void attend(LayerStep& step) override {
    const int64_t before = step.store->length(step.layer, 0);
    const int64_t recent_from = std::max(sink(), before - recent());  // row of the store
    step.store->append(step.layer, step.rows, step.k, step.v);
    const int64_t after = before + step.rows;

    const int64_t position =
        before - recent_from + sink();  // of row 0: the length of the kept list
    const Rotations& rotations = rotations_.up_to(step.shape->rope, position + step.rows);
    const float* queries[] = {
        step.rotated(step.q, step.shape->heads, rotations, position, rotated_q_)};

    segments_.clear();
    for (int head = 0; head < step.kv_heads; ++head) {
      add(step, head, 0, std::min(sink(), after), 0);
      add(step, head, recent_from, after, sink());
    }
    step.attend(queries, segments_, 2, &rotations, position);
  }

  int64_t reach(int64_t tokens, int chunk) const override {
    return std::min(tokens, sink() + recent() + chunk);
  }

 private:
  /// Rows [begin, end) of a head, the first of them at `position` of the kept list.
  void add(const LayerStep& step, int head, int64_t begin, int64_t end, int64_t position) {
    KeySegment keys;
    keys.rows = step.store->rows(step.layer, head);
    keys.begin = begin;
    keys.count = std::max<int64_t>(0, end - begin);
    keys.position = position;
    keys.rotate = true;
    keys.see_within(step.shape->own_window(step.layer));
    segments_.push_back(keys);
  }

  RotationBuffer rotations_;
  Buffer<float> rotated_q_;
  std::vector<KeySegment> segments_;
};

constexpr OptionInfo kOptions[] = {
    {"sink", OptionKind::kInteger, "4", "tokens", 0, 1 << 20, "",
     "first tokens of the context, kept for good"},
    {"recent", OptionKind::kInteger, "2000", "tokens", 1, 1 << 24, "", "last tokens, kept"},
};

}  // namespace

MethodInfo streamingllm_method() {
  MethodInfo info;
  info.name = "streamingllm";
  info.summary = "keeps the first tokens and the most recent ones; forgets what lies between";
  info.when = "endless text at constant memory and speed, when only the recent part matters";
  info.keeps = "the first `sink` and the last `recent` tokens; what lies between is gone for good";
  info.harms = "any question whose answer lies between the first tokens and the recent ones";
  info.paper = "Xiao et al. 2023, Efficient Streaming Language Models with Attention Sinks";
  info.options = kOptions;
  info.make = [](const MethodOptions& o, const ModelShape&) -> std::unique_ptr<AttentionMethod> {
    return std::make_unique<StreamingLlm>(o.integer("sink"), o.integer("recent"));
  };
  return info;
}

}  // namespace longhaul
