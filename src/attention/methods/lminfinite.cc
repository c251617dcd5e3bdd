// LM-Infinite (docs/methods/lminfinite.md): rows see the first and the last tokens (a Λ-shaped
// attention mask), and the distance to the first tokens is limited. A row sees the last `local`
// tokens at their true distances. If the first `global` tokens are farther away, it sees all of
// them at the distance `limit`.

#include <algorithm>

#include "attention/registry.h"

namespace longhaul {
namespace {

struct LmInfinite final : Method {
  int64_t global = 10, local = 4096, limit = 4096;
  void declare(OptionList& o) {
    o.integer(global, "global", 0, 1 << 20, "tokens", "first tokens of the context, kept for good");
    o.integer(local, "local", 1, 1 << 24, "tokens",
              "last tokens that a row sees, itself among them");
    o.integer(limit, "limit", 0, 1 << 24, "tokens",
              "distance at which far first tokens seem to stand");
  }

  void fit(const ModelShape&) { whole = {.place = KeyPlace::kOwn, .when = When::kEveryPass}; }
  ListPlan plan(int, int, int64_t) const override {
    // The distance `limit` may equal the trained context length, as in the paper.
    const int64_t reach = std::max(local, global > 0 ? limit : 0);
    return {.keep = {.sink = global, .recent = local}, .see = {.reach = reach}};
  }

  void attend(LayerStep& step) override {
    // Until tokens between the global and the local ones are evicted, row i of a list is token i.
    // After n tokens have been evicted, row i is token i + n, and every global token is farther
    // away than `local` for all later rows. For near keys only distances matter, so that indices in
    // the list can be used as positions of keys and queries.
    const int64_t after = step.store->length(step.layer, 0), before = after - step.rows;
    const Rotations& rotations = step.list_rotations(after);
    const int64_t far = std::min(limit, step.begin + step.rows - 1);
    const Rotations& at_limit =
        limit_rotation_.of(*step.shape, step.layer).fill(*step.queue, step.rope(), far, 1);
    const View<const float> queries[] = {step.queries_from(rotations, before, near_q_),
                                         step.queries_at(at_limit, far, far_q_)};
    segments_.clear();
    for (int head = 0; head < step.kv_heads; ++head) {
      segments_.push_back(near_keys(step, head, before));
      segments_.push_back(first_keys(step, head, before));
    }
    step.attend(queries, segments_, 2, &rotations, before);
  }

 private:
  KeySegment near_keys(const LayerStep& step, int head, int64_t before) const {
    const int64_t window = step.own_window();
    const int64_t begin = std::max<int64_t>(0, before - local + 1);
    return {.rows = step.store->rows(step.layer, head),
            .begin = begin,
            .count = before + step.rows - begin,
            .position = begin,
            .rotate = true,
            .visible = Visibility::kWindow,
            .window = window > 0 ? std::min(window, local) : local};
  }

  KeySegment first_keys(const LayerStep& step, int head, int64_t before) const {
    return {.rows = step.store->rows(step.layer, head),
            .count = step.own_window() > 0 ? 0 : std::min(global, before + step.rows),
            .position = before - step.begin,  // minus the number of evicted tokens
            .visible = Visibility::kBeyond,
            .window = local,
            .query = 1};
  }

  PerRope<RotationBuffer> limit_rotation_;
  Array<float> near_q_, far_q_;
  std::vector<KeySegment> segments_;
};

}  // namespace

MethodInfo lminfinite_method() {
  MethodInfo info = method_info<LmInfinite>({.name = "lminfinite"});
  info.summary = "keeps the first tokens, at a capped distance, and the most recent ones";
  info.when = "endless text at constant memory, when only the recent part matters";
  info.keeps =
      "the first `global` tokens, seen at a distance of at most `limit`, and the last `local` "
      "ones; the rest is gone for good";
  info.harms = "any question whose answer lies between the first tokens and the last `local`";
  info.paper = "Han et al. 2023, LM-Infinite: Zero-Shot Extreme Length Generalization for LLMs";
  info.covers = {"", "global=0,local=700"};
  info.small = {{"local=60,limit=60", 60},
                {"local=60,limit=90", 90},
                {"local=60,global=0", 60},
                {"global=2,local=16,limit=16", 16}};
  return info;
}

}  // namespace longhaul
