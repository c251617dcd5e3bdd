// ReAttention: the first tokens, the most recent ones, and those in between to which the rows of
// this pass point: every query head's best keys by raw dot product, without positions, put to a
// vote over heads and rows, each with its neighbours. All of it at positions within the visible
// list, so that no distance grows beyond what the model was trained for
// (docs/methods/reattention.md).
//
// Nothing is forgotten: the store holds the raw keys of every token, one list per layer is chosen
// anew in every pass. Positions count back from the newest row, whose position depends on how much
// may be chosen and not on how much was, so that nobody needs to know that number beforehand.

#include <algorithm>

#include "attention/parts/passes.h"
#include "attention/registry.h"
#include "base/clock.h"
#include "base/error.h"
#include "ops/reattention_regions.h"
#include "ops/voted_spans.h"

namespace longhaul {
namespace {

class Reattention final : public Method {
 public:
  enum class Positions : uint8_t { kCache, kOriginal };
  enum class Recall : uint8_t { kAlways, kPrefill, kDecode };
  enum class Fidelity : uint8_t { kPaper, kRepo };
  enum class Prefill : uint8_t { kTile, kExact };
  int64_t global = 32, local = 4096, k = 4, span = 32, clip = 127, chunk = 512;
  Prefill prefill_topk = Prefill::kTile;
  Positions positions = Positions::kCache;
  Recall recall = Recall::kAlways;
  Fidelity fidelity = Fidelity::kRepo;
  bool bug_compat = false;

  void declare(OptionList& o) {
    o.integer(global, "global", 0, 1 << 20, "tokens", "first tokens, always seen");
    o.integer(local, "local", 1, 1 << 24, "tokens",
              "last tokens, always seen (fidelity=repo: a multiple of 128, of which up to 128 "
              "fewer)");
    o.integer(k, "k", 1, kMostTopKeys, "tokens", "tokens that each query head votes for");
    o.integer(span, "span", 1, 1 << 16, "tokens",
              "tokens that a chosen one brings along, itself counted");
    o.integer(clip, "clip", 1, 1 << 20, "tokens",
              "tokens that are chosen at most, those with most votes");
    o.integer(chunk, "chunk", 1, 1 << 16, "tokens",
              "prompt tokens that vote together; --chunk caps it");
    o.choice(prefill_topk, "prefill_topk", {"tile", "exact"},
             "of the prompt's rows: one vote at most per tile of 128 keys, or the exact best")
        .only([this] { return recall != Recall::kDecode; }, "recall=always|prefill", "recall");
    o.choice(positions, "positions", {"cache", "original"},
             "whether keys stand at their place in the visible list, or in the text");
    o.choice(recall, "recall", {"always", "prefill", "decode"},
             "when tokens are chosen at all; else the global and local ones are seen");
    o.choice(fidelity, "fidelity", {"paper", "repo"},
             "repo: the middle is whole tiles of 128; paper: the local part is exact");
    o.flag(bug_compat, "bug_compat",
           "votes of query head h on KV head h mod kv_heads, as published")
        .only([this] { return recall != Recall::kPrefill || (k != 1 && k != 4); },
              "recall=always|decode or k!=1|4", "recall|k");
  }

  void fit(const ModelShape& shape) {
    regions_ = {global, local, fidelity == Fidelity::kRepo};
    trained_ = shape.trained_context;
    if (regions_.whole_tiles && local % ReattentionRegions::kTile != 0) {
      user_error("--attention reattention: local={}: must be a multiple of {} (or fidelity=paper)",
                 local, ReattentionRegions::kTile);
    }
    if (chunk > regions_.least_local()) {
      user_error("--attention reattention: chunk={}: must be within the local part, at most {}{}",
                 chunk, regions_.least_local(),
                 regions_.whole_tiles ? " (local - 128, fidelity=repo)" : "");
    }
  }

  Plan plan(int, int, int64_t) const override {
    const int64_t reach = moved() ? most_visible() : kNoBound;
    return {.see = {.place = KeyPlace::kOwn, .chosen = true, .reach = reach}, .rewinds = true};
  }

  std::vector<Pass> passes(const PromptFacts& prompt) override {
    const int64_t total = prompt.begin + prompt.tokens;
    if (moved() && trained_ > 0 && std::min(total, most_visible()) > trained_) {
      user_error(
          "--attention reattention: global {} + clip {} * span {} + local {} = {} visible keys, "
          "more than the {} tokens that this model was trained for; give a smaller clip, span or "
          "local",
          global, clip, span, local, most_visible(), trained_);
    }
    return passes_with_last(prompt, regions_.dense_tokens(total) - prompt.begin, chunk, 1);
  }

  void attend(LayerStep& step) override {
    const int64_t tokens = step.begin + step.rows, window = step.own_window();
    Visible visible{.tokens = tokens};
    if (window > 0) {
      visible.local_from = std::max<int64_t>(0, step.begin - window + 1);
    } else if (const int64_t middle = regions_.middle_at(tokens); middle > 0) {
      visible.global = global;
      visible.local_from = global + middle;
      if (recalls(step)) visible.selected = select(step, middle);
      step.chose = true;
    }
    see(step, visible);
  }

 private:
  /// What the rows of a pass see: tokens [0, global), the selected ones, [local_from, tokens).
  struct Visible {
    int64_t global = 0;
    RowList selected;
    int64_t local_from = 0, tokens = 0;
  };

  bool moved() const { return positions == Positions::kCache; }
  int64_t most_visible() const { return global + clip * span + local; }
  /// A row that is read alone is a decode step, the last of a prompt too.
  bool recalls(const LayerStep& step) const {
    return recall != (step.rows == 1 ? Recall::kPrefill : Recall::kDecode);
  }

  /// Tokens of the middle.
  RowList select(LayerStep& step, int64_t middle) {
    const Stopwatch watch;
    const bool decode = step.rows == 1;
    const bool tiles = !decode && prefill_topk == Prefill::kTile;
    const SpanVote vote{.k = static_cast<int>(k),
                        .rule = tiles ? TopRule::kTile : TopRule::kExact,
                        .clip = clip,
                        .span = span,
                        // The published code pairs query head h with KV head h mod kv_heads here.
                        .mispaired = bug_compat && (decode || (k != 1 && k != 4))};
    const RowList selected =
        spans_.choose(step.call({&step.q, 1}), step.lists(), global, middle, vote);
    step.workspace->seconds += watch.seconds();
    return selected;
  }

  void see(LayerStep& step, const Visible& visible) {
    const int64_t recent = visible.tokens - visible.local_from;
    const int64_t room = visible.selected.most() > 0 ? clip * span : 0;
    const int64_t local_at = moved() ? visible.global + room : visible.local_from;
    const int64_t end = local_at + recent;  // position behind the newest row
    const Rotations& rotations = step.list_rotations(end);
    segments_.clear();
    for (int head = 0; head < step.kv_heads; ++head) {
      KeySegment keys{.rows = step.store->rows(step.layer, head), .rotate = true};
      add_far_keys(keys, visible, local_at);
      keys.begin = visible.local_from;
      keys.count = recent;
      keys.position = local_at;
      keys.see_within(step.own_window());
      segments_.push_back(keys);
    }
    const int64_t position = end - step.rows;  // of row 0
    const View<const float> queries[] = {step.queries_from(rotations, position, rotated_q_)};
    step.attend(queries, segments_, 3, &rotations, position);
  }

  /// Those before the local part: the selected ones end where it begins, the global ones end where
  /// the selected begin.
  void add_far_keys(KeySegment keys, const Visible& visible, int64_t local_at) {
    keys.visible = Visibility::kAll;
    KeySegment first = keys, selected = keys;
    first.count = visible.global;
    selected.count = visible.selected.most();
    selected.index = visible.selected.rows;
    selected.live = visible.selected.count;
    if (moved()) {
      first.position = local_at - visible.global;
      first.behind = selected.behind = visible.selected.count;
      selected.position = local_at;
    } else {
      selected.indexed_positions = true;
    }
    segments_.push_back(first);
    segments_.push_back(selected);
  }

  ReattentionRegions regions_;
  int64_t trained_ = 0;
  VotedSpans spans_;
  Array<float> rotated_q_;
  std::vector<KeySegment> segments_;
};

}  // namespace

MethodInfo reattention_method() {
  MethodInfo info = method_info<Reattention>({.name = "reattention"});
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
  info.covers = {"", "global=3,local=256,chunk=128,span=1400",
                 "fidelity=paper,global=2,local=30,chunk=16,span=1400,positions=original"};
  info.small = {{"global=8,local=256,chunk=100,span=8,clip=8", 8 + 256 + 64},
                {"global=8,local=256,chunk=100,span=8,clip=8,positions=original"},
                {"global=4,local=16,chunk=8,clip=4,span=2,fidelity=paper", 4 + 8 + 16}};
  return info;
}

}  // namespace longhaul
