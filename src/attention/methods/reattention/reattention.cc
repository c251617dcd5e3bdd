// ReAttention (docs/methods/reattention.md): rows see the first tokens, the most recent tokens, and
// selected tokens in between. The rows of a chunk select together: every query head of every row
// votes for the keys with the largest dot products, without RoPE. The keys with the most votes are
// selected together with their neighbours. The position of a key is its index among the visible
// keys, so no distance exceeds the trained context length.
//
// No rows are evicted. The store holds the keys of all tokens without rotation, and every chunk of
// rows selects tokens again, the same for all heads of a layer. A pass has as many whole chunks as
// --chunk allows, because matrix multiplications are faster with many rows. Positions are assigned
// backwards from the newest row. The position of this row is computed from the largest number of
// tokens that can be selected. The actual number is therefore not needed on the host.

#include <fmt/format.h>

#include <algorithm>

#include "attention/methods/reattention/reattention_regions.h"
#include "attention/methods/reattention/voted_spans.h"
#include "attention/parts/passes.h"
#include "attention/registry.h"
#include "base/clock.h"
#include "base/error.h"

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
    whole = {.place = KeyPlace::kOwn, .rewinds = true};
    regions_ = {global, local, fidelity == Fidelity::kRepo};
    if (bug_compat && shape.ranks > 1) {
      user_error("--attention reattention: bug_compat: each head needs another device's keys");
    }
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

  ListPlan plan(int, int, int64_t) const override {
    const int64_t reach = moved() ? most_visible() : kNoBound;
    return {.see = {.chosen = true, .reach = reach}};
  }

  std::vector<Pass> passes(const PromptFacts& prompt) override {
    const int64_t total = prompt.begin + prompt.tokens;
    if (moved() && trained_ > 0 && std::min(total, most_visible()) > trained_) {
      user_error(
          "--attention reattention: global {} + clip {} * span {} + local {} = {} visible keys, "
          "more than the {} tokens that this model was trained for; {}",
          global, clip, span, local, most_visible(), trained_, fitting_options());
    }
    const int64_t lead = regions_.dense_tokens(total) - prompt.begin;
    return passes_with_last(prompt, lead, std::max(chunk, prompt.chunk / chunk * chunk), 1);
  }

  void attend(LayerStep& step) override {
    divide(step);
    select(step);
    see(step);
  }

 private:
  /// The rows of a pass that vote together. They see tokens [0, global), the selected tokens, and
  /// tokens [local_from, tokens).
  struct Chunk {
    int row = 0, rows = 0;
    int64_t tokens = 0;  ///< length of the context up to the chunk's last row
    int64_t middle = 0;  ///< number of candidates for selection: tokens [global, local_from)
    int64_t global = 0, local_from = 0;
    RowList selected;

    int64_t recent() const { return tokens - local_from; }
  };

  /// Returns options for a model whose trained context length is too short for the given ones. The
  /// local tokens get half of this length, and the selected tokens the rest.
  std::string fitting_options() const {
    const int64_t half = trained_ / 2 / ReattentionRegions::kTile * ReattentionRegions::kTile;
    const int64_t most_clip = (trained_ - global - half) / span;
    const int64_t most_chunk = half - (regions_.whole_tiles ? ReattentionRegions::kTile : 0);
    if (most_clip < 1 || most_chunk < 1) return "give a smaller global, span or local";
    return fmt::format(
        "{} fits, and 'longhaul calibrate reattention --save' finds the best setting for this "
        "model",
        chunk > most_chunk ? fmt::format("local={},clip={},chunk={}", half, most_clip, most_chunk)
                           : fmt::format("local={},clip={}", half, most_clip));
  }

  bool moved() const { return positions == Positions::kCache; }
  int64_t most_visible() const { return global + clip * span + local; }
  /// Returns whether the chunk selects tokens. A chunk of a single row counts as a decode step,
  /// also at the end of a prompt.
  bool chooses(const Chunk& of) const {
    return of.middle > 0 && recall != (of.rows == 1 ? Recall::kPrefill : Recall::kDecode);
  }
  TopRule rule_of(const Chunk& of) const {
    return of.rows > 1 && prefill_topk == Prefill::kTile ? TopRule::kTile : TopRule::kExact;
  }

  /// Divides the rows of a pass into chunks of `chunk` rows.
  void divide(LayerStep& step) {
    const int64_t window = step.own_window();
    chunks_.clear();
    for (int row = 0; row < step.rows;) {
      Chunk c{.row = row};
      c.rows = static_cast<int>(std::min<int64_t>(chunk, step.rows - row));
      c.tokens = step.begin + row + c.rows;
      c.middle = window > 0 ? 0 : regions_.middle_at(c.tokens);
      if (window > 0) c.local_from = std::max<int64_t>(0, step.begin + row - window + 1);
      if (c.middle > 0) {
        c.global = global;
        c.local_from = global + c.middle;
        step.chose = true;
      }
      chunks_.push_back(c);
      row += c.rows;
    }
  }

  /// Selects tokens of the middle region for all chunks at once.
  void select(LayerStep& step) {
    const Stopwatch watch;
    elections_.clear();
    for (const Chunk& c : chunks_) {
      if (!chooses(c)) continue;
      // In these cases, the published code pairs query head h with KV head h mod kv_heads.
      const bool mispaired = bug_compat && (c.rows == 1 || (k != 1 && k != 4));
      elections_.push_back({c.row, c.rows, c.middle, rule_of(c), mispaired, {}});
    }
    const SpanVote vote{.k = static_cast<int>(k), .clip = clip, .span = span};
    spans_.choose(step.call({&step.q, 1}), step.lists(), global, vote, elections_);
    auto election = elections_.begin();
    for (Chunk& c : chunks_) {
      if (chooses(c)) c.selected = (election++)->chosen;
    }
    step.record->seconds += watch.seconds();
  }

  /// Returns the position of a chunk's first local token. It leaves room for the largest number of
  /// selected tokens.
  int64_t local_at(const Chunk& c) const {
    return moved() ? c.global + (c.selected.most() > 0 ? clip * span : 0) : c.local_from;
  }

  void see(LayerStep& step) {
    int64_t end = 0;
    for (const Chunk& c : chunks_) end = std::max(end, local_at(c) + c.recent());
    const Rotations& rotations = step.list_rotations(end);
    const int64_t row = int64_t{step.shape->heads} * step.head_dim();
    const View<float> rotated = rotated_q_.resize(*step.queue, step.q.size());
    segments_.clear();
    segments_.reserve(3 * chunks_.size() * static_cast<size_t>(step.kv_heads));
    attend_tasks_.clear();
    for (const Chunk& c : chunks_) {
      const int64_t position = local_at(c) + c.recent() - c.rows;
      step.turn_queries(rotations, position, step.q.part(c.row * row, c.rows * row),
                        rotated.part(c.row * row, c.rows * row));
      for (int head = 0; head < step.kv_heads; ++head) {
        if (!step.attends(head)) continue;
        const std::span<const KeySegment> keys = add_keys(step, c, head);
        attend_tasks_.push_back({head * step.group(), step.group(), c.row, c.rows, position, keys});
      }
    }
    const View<const float> queries[] = {rotated};
    step.attend(queries, attend_tasks_, &rotations);
  }

  /// Returns the key segments of a chunk. The positions of the selected tokens end where those of
  /// the local tokens begin, and the positions of the global tokens end where those of the selected
  /// tokens begin.
  std::span<const KeySegment> add_keys(const LayerStep& step, const Chunk& c, int head) {
    KeySegment keys{.rows = step.store->rows(step.layer, head), .rotate = true};
    keys.visible = Visibility::kAll;
    KeySegment first = keys, selected = keys, recent = keys;
    first.count = c.global;
    selected.count = c.selected.most();
    selected.index = c.selected.rows;
    selected.device_count = c.selected.count;
    if (moved()) {
      first.position = local_at(c) - c.global;
      first.count_after = selected.count_after = c.selected.count;
      selected.position = local_at(c);
    } else {
      selected.indexed_positions = true;
    }
    recent.begin = c.local_from;
    recent.count = c.recent();
    recent.position = local_at(c);
    recent.see_within(step.own_window());
    segments_.insert(segments_.end(), {first, selected, recent});
    const std::span<KeySegment> added = std::span(segments_).last(3);
    resolve_counts(added);
    return added;
  }

  ReattentionRegions regions_;
  int64_t trained_ = 0;
  std::vector<Chunk> chunks_;
  std::vector<Election> elections_;
  VotedSpans spans_;
  Array<float> rotated_q_;
  std::vector<KeySegment> segments_;
  std::vector<AttendTask> attend_tasks_;
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
