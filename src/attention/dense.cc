// Full causal attention: every row sees every earlier token, within the model's own sliding window
// where a layer has one. The oracle of all other methods.

#include "attention/registry.h"

namespace longhaul {
namespace {

class Dense final : public AttentionMethod {
 public:
  void attend(LayerStep& step) override {
    const float* queries[] = {step.rotated_q()};
    step.store->append(step.layer, step.rows, step.rotated_k(), step.v);
    segments_.clear();
    for (int head = 0; head < step.kv_heads; ++head) segments_.push_back(step.all_keys(head));
    step.attend(queries, segments_, 1);
  }

  bool can_rewind() const override { return true; }
  int64_t dense_prefix(const PromptFacts& prompt) const override { return prompt.tokens - 1; }

 private:
  std::vector<KeySegment> segments_;
};

}  // namespace

MethodInfo dense_method() {
  MethodInfo info;
  info.name = "dense";
  info.summary = "keeps every key; every row sees all earlier tokens";
  info.when = "the reference; contexts that fit the trained length and the memory";
  info.keeps = "every key and value; nothing is forgotten";
  info.harms =
      "memory and time per token grow with the text, time to read a prompt with its square; beyond "
      "the trained length answers fall apart";
  info.make = [](const MethodOptions&, const ModelShape&) -> std::unique_ptr<AttentionMethod> {
    return std::make_unique<Dense>();
  };
  return info;
}

}  // namespace longhaul
