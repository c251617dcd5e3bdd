// Full causal attention: every row sees every earlier token, within the model's own sliding window
// where a layer has one. The oracle of all other methods.

#include <algorithm>

#include "attention/registry.h"

namespace longhaul {
namespace {

class Dense final : public AttentionMethod {
 public:
  void attend(LayerStep& step) override {
    const float* queries[] = {step.rotated_q()};
    step.store->append(step.layer, step.rows, step.rotated_k(), step.v);

    const int64_t window = step.shape->window[static_cast<size_t>(step.layer)];
    segments_.clear();
    for (int head = 0; head < step.kv_heads; ++head) {
      KeySegment keys;
      keys.rows = step.store->rows(step.layer, head);
      if (window > 0) {
        keys.visible = Visibility::kWindow;
        keys.window = window;
        keys.begin = keys.position = std::max<int64_t>(0, step.begin - window + 1);
      }
      keys.count = step.store->length(step.layer, head) - keys.begin;
      segments_.push_back(keys);
    }
    step.attend(queries, segments_, 1);
  }

  bool can_rewind() const override { return true; }

 private:
  std::vector<KeySegment> segments_;
};

}  // namespace

MethodInfo dense_method() {
  MethodInfo info;
  info.name = "dense";
  info.summary = "keeps every key; every row sees all earlier tokens";
  info.when = "the reference; contexts that fit the trained length and the memory";
  info.make = [](const MethodOptions&, const ModelShape&) -> std::unique_ptr<AttentionMethod> {
    return std::make_unique<Dense>();
  };
  return info;
}

}  // namespace longhaul
