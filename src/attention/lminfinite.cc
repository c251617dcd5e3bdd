// LM-Infinite: a Λ-shaped mask with a cap on distance (docs/methods/lminfinite.md). A row sees the
// last `local` tokens at their distances, and the first `global` ones, once they are further away,
// all at the distance `limit`.

#include <algorithm>

#include "attention/registry.h"
#include "attention/sink_recent_method.h"

namespace longhaul {
namespace {

class LmInfinite final : public SinkRecentMethod {
 public:
  LmInfinite(int64_t global, int64_t local, int64_t limit)
      : SinkRecentMethod(global, local), limit_(limit) {}

  void attend(LayerStep& step) override {
    // Row i of a list is token i until tokens between global and local ones are dropped; then every
    // global one is far for all rows to come, and row i is token i + dropped. Near keys need
    // distances only, so they and the rows stand at row numbers, which stay small.
    const int64_t before = step.store->length(step.layer, 0);
    const int64_t dropped = step.begin - before;
    step.store->append(step.layer, step.rows, step.k, step.v);
    const int64_t after = before + step.rows;

    const Rotations& rotations = rotations_.up_to(step.shape->rope, after);
    const int64_t far = std::min(limit_, step.begin + step.rows - 1);
    const Rotations& limit = limit_rotation_.fill(step.shape->rope, far, 1);
    const int heads = step.shape->heads;
    const float* queries[] = {step.rotated(step.q, heads, rotations, before, near_q_),
                              step.rotated_constant(step.q, heads, limit, far, far_q_)};

    const int64_t global = sink(), local = recent();
    const int64_t window = step.shape->own_window(step.layer);
    segments_.clear();
    for (int head = 0; head < step.kv_heads; ++head) {
      KeySegment near;
      near.rows = step.store->rows(step.layer, head);
      near.visible = Visibility::kWindow;
      near.window = window > 0 ? std::min(window, local) : local;
      near.begin = near.position = std::max<int64_t>(0, before - local + 1);
      near.count = after - near.begin;
      near.rotate = true;
      segments_.push_back(near);

      KeySegment first;
      first.rows = near.rows;
      first.count = window > 0 ? 0 : std::min(global, after);
      first.position = -dropped;
      first.visible = Visibility::kBeyond;
      first.window = local;
      first.query = 1;
      segments_.push_back(first);
    }
    step.attend(queries, segments_, 2, &rotations, before);
  }

  /// A distance of the trained length itself, as published, passes.
  int64_t reach(int64_t tokens, int) const override {
    return std::min(tokens, std::max(recent(), sink() > 0 ? limit_ : 0));
  }

 private:
  int64_t limit_;  // tokens
  RotationBuffer rotations_, limit_rotation_;
  Buffer<float> near_q_, far_q_;
  std::vector<KeySegment> segments_;
};

constexpr OptionInfo kOptions[] = {
    {"global", OptionKind::kInteger, "10", "tokens", 0, 1 << 20, "",
     "first tokens of the context, kept for good"},
    {"local", OptionKind::kInteger, "4096", "tokens", 1, 1 << 24, "",
     "last tokens that a row sees, itself among them"},
    {"limit", OptionKind::kInteger, "4096", "tokens", 0, 1 << 24, "",
     "distance at which far first tokens seem to stand"},
};

}  // namespace

MethodInfo lminfinite_method() {
  MethodInfo info;
  info.name = "lminfinite";
  info.summary = "keeps the first tokens, at a capped distance, and the most recent ones";
  info.when = "endless text at constant memory, when only the recent part matters";
  info.keeps =
      "the first `global` tokens, seen at a distance of at most `limit`, and the last `local` "
      "ones; the rest is gone for good";
  info.harms = "any question whose answer lies between the first tokens and the last `local`";
  info.paper = "Han et al. 2023, LM-Infinite: Zero-Shot Extreme Length Generalization for LLMs";
  info.options = kOptions;
  info.make = [](const MethodOptions& o, const ModelShape&) -> std::unique_ptr<AttentionMethod> {
    return std::make_unique<LmInfinite>(o.integer("global"), o.integer("local"),
                                        o.integer("limit"));
  };
  return info;
}

}  // namespace longhaul
