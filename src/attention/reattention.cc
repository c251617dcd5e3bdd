// ReAttention: the first tokens, the most recent ones, and those in between to which the rows of
// this pass point: every query head's best keys by raw dot product, without positions, put to a
// vote over heads and rows, each with its neighbours. All of it at positions within the visible
// list, so that no distance grows beyond what the model was trained for
// (docs/methods/reattention.md).
//
// Nothing is forgotten: the store holds the raw keys of every token, one list per layer is chosen
// anew in every pass.

#include <algorithm>

#include "attention/reattention_regions.h"
#include "attention/registry.h"
#include "base/byte_stream.h"
#include "base/clock.h"
#include "base/error.h"
#include "ops/ranking.h"
#include "ops/top_keys.h"

namespace longhaul {
namespace {

struct Settings {
  ReattentionRegions regions;
  int k;          // keys that a row of a head votes for
  int64_t span;   // tokens that a chosen one brings along, itself counted
  int64_t clip;   // most chosen ones
  int64_t chunk;  // rows that vote together
  TopRule prefill;
  bool in_prefill, in_decode;  // whether anything is chosen at all
  bool original_positions;
  bool bug_compat;

  int64_t most_visible() const { return regions.global + clip * span + regions.local; }
};

class Reattention final : public AttentionMethod {
 public:
  explicit Reattention(const Settings& settings, int64_t trained)
      : set_(settings), trained_(trained) {}

  std::vector<Pass> prepare(const PromptFacts& prompt) override {
    const int64_t total = prompt.begin + prompt.tokens;
    if (!set_.original_positions && trained_ > 0 && reach(total, prompt.chunk) > trained_) {
      user_error(
          "--attention reattention: global {} + clip {} * span {} + local {} = {} visible keys, "
          "more "
          "than the {} tokens that this model was trained for; give a smaller clip, span or local",
          set_.regions.global, set_.clip, set_.span, set_.regions.local, set_.most_visible(),
          trained_);
    }
    const int64_t dense = set_.regions.dense_tokens(total);
    std::vector<Pass> passes;
    for (int64_t at = prompt.begin; at < total;) {
      const int64_t end = at < dense ? dense : at < total - 1 ? total - 1 : total;
      const int64_t most = at < dense ? prompt.chunk : std::min<int64_t>(prompt.chunk, set_.chunk);
      const int64_t count = std::min(end - at, most);
      passes.push_back({at - prompt.begin, count});
      at += count;
    }
    return passes;
  }

  void attend(LayerStep& step) override {
    step.store->append(step.layer, step.rows, step.k, step.v);
    const int64_t tokens = step.begin + step.rows;
    const int64_t window = step.shape->own_window(step.layer);
    List list;
    if (window > 0) {
      list.local_from = std::max<int64_t>(0, step.begin - window + 1);
    } else if (const int64_t middle = set_.regions.middle_at(tokens); middle > 0) {
      list.global = set_.regions.global;
      list.local_from = list.global + middle;
      if (recalls(step)) list.selected = select(step, middle);
      selected_ = true;
    }
    see(step, list, tokens, window);
  }

  bool can_rewind() const override { return !selected_; }  // rows voted with later ones
  void save(ByteWriter& out) const override { out.number<uint8_t>(selected_ ? 1 : 0); }
  void restore(ByteReader& in) override { selected_ = in.number<uint8_t>() != 0; }

  int64_t reach(int64_t tokens, int) const override {
    return set_.original_positions ? tokens : std::min(tokens, set_.most_visible());
  }

 private:
  /// What the rows of a pass see: tokens [0, global), the selected ones, [local_from, ...).
  struct List {
    int64_t global = 0;
    std::vector<int32_t> selected;
    int64_t local_from = 0;
  };

  /// A row that is read alone is a decode step, the last of a prompt too.
  bool recalls(const LayerStep& step) const {
    return step.rows == 1 ? set_.in_decode : set_.in_prefill;
  }

  /// Tokens of the middle, ascending.
  std::vector<int32_t> select(const LayerStep& step, int64_t middle) {
    const Stopwatch watch;
    const bool decode = step.rows == 1;
    const int heads = step.shape->heads, group = step.group();
    // The published code pairs query head h with KV head h mod kv_heads here.
    const bool mispaired = set_.bug_compat && (decode || (set_.k != 1 && set_.k != 4));
    tasks_.clear();
    for (int h = 0; h < heads; h += mispaired ? 1 : group) {
      const int kv_head = mispaired ? h % step.kv_heads : h / group;
      tasks_.push_back({h, mispaired ? 1 : group, 0, step.rows,
                        step.store->rows(step.layer, kv_head), set_.regions.global, middle});
    }
    votes_.resize(static_cast<size_t>(step.rows) * static_cast<size_t>(heads * set_.k));
    TopKeysCall call;
    call.queries = step.q;
    call.heads = heads;
    call.head_dim = step.shape->head_dim;
    call.k = set_.k;
    call.rule = decode ? TopRule::kExact : set_.prefill;
    call.compute = step.compute;
    call.keys = votes_.data();
    top_keys(call, tasks_);
    const auto chosen = most_voted(votes_, set_.clip, counters_);
    auto selected = expanded_spans(chosen, set_.span, middle, set_.regions.global);
    step.workspace->seconds += watch.seconds();
    return selected;
  }

  void see(LayerStep& step, const List& list, int64_t tokens, int64_t window) {
    const int64_t selected = static_cast<int64_t>(list.selected.size());
    const bool moved = !set_.original_positions;
    const int64_t local_at = moved ? list.global + selected : list.local_from;
    const int64_t end = local_at + tokens - list.local_from;  // position behind the last key
    const Rotations& rotations = rotations_.up_to(step.shape->rope, end);
    segments_.clear();
    for (int head = 0; head < step.kv_heads; ++head) {
      KeySegment keys;
      keys.rows = step.store->rows(step.layer, head);
      keys.rotate = true;
      keys.visible = Visibility::kAll;
      keys.count = list.global;
      segments_.push_back(keys);
      keys.count = selected;
      keys.index = list.selected.data();
      keys.position = moved ? list.global : 0;
      keys.indexed_positions = !moved;
      segments_.push_back(keys);
      keys.index = nullptr;
      keys.indexed_positions = false;
      keys.begin = list.local_from;
      keys.count = tokens - list.local_from;
      keys.position = local_at;
      keys.see_within(window);
      segments_.push_back(keys);
    }
    const int64_t position = end - step.rows;  // of row 0
    const float* queries[] = {
        step.rotated(step.q, step.shape->heads, rotations, position, rotated_q_)};
    step.attend(queries, segments_, 3, &rotations, position);
  }

  Settings set_;
  int64_t trained_;
  bool selected_ = false;  // some rows did not see everything
  std::vector<TopKeysTask> tasks_;
  std::vector<int32_t> votes_;     // [rows, heads, k] numbers within the middle
  std::vector<int32_t> counters_;  // of most_voted
  RotationBuffer rotations_;
  Buffer<float> rotated_q_;
  std::vector<KeySegment> segments_;
};

constexpr OptionInfo kOptions[] = {
    {"global", OptionKind::kInteger, "32", "tokens", 0, 1 << 20, "", "first tokens, always seen"},
    {"local", OptionKind::kInteger, "4096", "tokens", 1, 1 << 24, "",
     "last tokens, always seen (fidelity=repo: a multiple of 128, of which up to 128 fewer)"},
    {"k", OptionKind::kInteger, "4", "tokens", 1, kMostTopKeys, "",
     "tokens that each query head votes for"},
    {"span", OptionKind::kInteger, "32", "tokens", 1, 1 << 16, "",
     "tokens that a chosen one brings along, itself counted"},
    {"clip", OptionKind::kInteger, "127", "tokens", 1, 1 << 20, "",
     "tokens that are chosen at most, those with most votes"},
    {"chunk", OptionKind::kInteger, "512", "tokens", 1, 1 << 16, "",
     "prompt tokens that vote together; --chunk caps it"},
    {"prefill_topk", OptionKind::kChoice, "tile", "", 0, 0, "tile|exact",
     "of the prompt's rows: one vote at most per tile of 128 keys, or the exact best",
     "recall=always|prefill"},
    {"positions", OptionKind::kChoice, "cache", "", 0, 0, "cache|original",
     "whether keys stand at their place in the visible list, or in the text"},
    {"recall", OptionKind::kChoice, "always", "", 0, 0, "always|prefill|decode",
     "when tokens are chosen at all; else the global and local ones are seen"},
    {"fidelity", OptionKind::kChoice, "repo", "", 0, 0, "paper|repo",
     "repo: the middle is whole tiles of 128; paper: the local part is exact"},
    {"bug_compat", OptionKind::kBool, "false", "", 0, 0, "",
     "votes of query head h on KV head h mod kv_heads, as published",
     "recall=always|decode or k!=1|4"},
};

Settings settings_of(const MethodOptions& o) {
  Settings s;
  s.regions = {o.integer("global"), o.integer("local"), o.text("fidelity") == "repo"};
  s.k = static_cast<int>(o.integer("k"));
  s.span = o.integer("span");
  s.clip = o.integer("clip");
  s.chunk = o.integer("chunk");
  s.prefill = o.text("prefill_topk") == "tile" ? TopRule::kTile : TopRule::kExact;
  s.in_prefill = o.text("recall") != "decode";
  s.in_decode = o.text("recall") != "prefill";
  s.original_positions = o.text("positions") == "original";
  s.bug_compat = o.flag("bug_compat");
  const ReattentionRegions& r = s.regions;
  if (r.whole_tiles && r.local % ReattentionRegions::kTile != 0) {
    user_error("--attention reattention: local={}: must be a multiple of {} (or fidelity=paper)",
               r.local, ReattentionRegions::kTile);
  }
  if (s.chunk > r.least_local()) {
    user_error("--attention reattention: chunk={}: must be within the local part, at most {}{}",
               s.chunk, r.least_local(), r.whole_tiles ? " (local - 128, fidelity=repo)" : "");
  }
  return s;
}

}  // namespace

MethodInfo reattention_method() {
  MethodInfo info;
  info.name = "reattention";
  info.summary =
      "sees the first and last tokens and spans chosen anew at every step; keeps all keys";
  info.when = "contexts far beyond the trained length, with bounded attention";
  info.keeps =
      "every key; a step sees the first and last tokens and a few spans, at positions within the "
      "trained length";
  info.harms =
      "what needs more spans than a step sees; memory grows with the text as with dense attention";
  info.paper =
      "Liu et al. 2024, ReAttention: Training-Free Infinite Context with Finite Attention Scope";
  info.options = kOptions;
  info.make = [](const MethodOptions& o, const ModelShape& s) -> std::unique_ptr<AttentionMethod> {
    return std::make_unique<Reattention>(settings_of(o), s.trained_context);
  };
  return info;
}

}  // namespace longhaul
