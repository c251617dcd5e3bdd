// MInference (docs/methods/minference.md): every query head reads a prompt by one of three
// patterns. In tiles of 64 rows it sees
//   a_shape         the first keys and a window;
//   vertical_slash  the columns and diagonals with most attention from its last 64 rows;
//   blocks          the blocks of 64 keys whose mean is closest to the mean query.
// All rows of a pass use the selection made by its last rows. Patterns come from a file or from a
// search. A search takes one pass whose rows see everything, and each head takes the candidate that
// captures most of its attention.

#include <algorithm>

#include "attention/methods/minference/pattern_file.h"
#include "attention/methods/minference/pattern_rules.h"
#include "attention/parts/sparse_prefill.h"
#include "base/error.h"
#include "base/nth.h"

namespace longhaul {
namespace {

constexpr int kMInferenceTile = 64;

class MInference final : public SparsePrefill {
 public:
  enum class Pattern : uint8_t { kVerticalSlash, kAShape, kBlocks };
  MInference() : SparsePrefill(kMInferenceTile) {}
  std::string patterns;
  Pattern pattern = Pattern::kVerticalSlash;
  std::optional<int64_t> vertical, slash;
  int64_t last = 64, search_at = 8192;
  std::string save;
  bool searches() const { return patterns == "search"; }
  void declare(OptionList& o) {
    o.file(patterns, "patterns",
           "JSON file with a pattern for every head, or `search`; empty: one for all heads",
           {"search"})
        .only([this] { return searches() || (!vertical && !slash); },
              "patterns=search or no vertical and no slash", "vertical|slash");
    o.choice(pattern, "pattern", {"vertical_slash", "a_shape", "blocks"},
             "the pattern of all heads without a file (while searching: until then)")
        .only([this] { return patterns.empty() || searches() || vertical || slash; },
              "no patterns or patterns=search or vertical or slash", "patterns|vertical|slash");
    o.integer(vertical, "vertical", 0, HeadPattern::kMost, "tokens",
              "its columns, sinks or blocks, of all heads even where the profile names a file; "
              "auto: published, 1000, 128, 100");
    o.integer(slash, "slash", 0, HeadPattern::kMost, "tokens",
              "its diagonals or window, likewise; auto: published, 6096, 3968")
        .only([this] { return pattern != Pattern::kBlocks; }, "pattern!=blocks", "pattern");
    o.integer(last, "last", 1, 4096, "tokens",
              "rows at the end of a pass that score columns and diagonals for it")
        .only([this] { return pattern == Pattern::kVerticalSlash || searches(); },
              "pattern=vertical_slash or patterns=search", "pattern|patterns");
    o.integer(search_at, "search_at", 1, 1 << 30, "tokens",
              "the search is made in the pass that reaches this depth")
        .only([this] { return searches(); }, "patterns=search", "patterns");
    o.output_file(save, "save", "file for what the search found")
        .only([this] { return searches(); }, "patterns=search", "patterns");
    declare_dense_below(o);
  }

  void fit(const ModelShape& shape) {
    shape_ = shape;
    searching_ = searches();
    found_.assign(static_cast<size_t>(shape.layers), 0);
    if (shape.ranks > 1 && !save.empty()) {
      user_error("minference: save= writes the patterns of all heads, which one device finds");
    }
    if (!patterns.empty() && !searching_) {
      patterns_ = shape.of_own_heads(read_patterns(patterns, shape.layers, shape.all_heads()));
      return;
    }
    const std::vector<HeadPattern> heads(static_cast<size_t>(shape.heads), one_for_all());
    patterns_.assign(static_cast<size_t>(shape.layers), heads);
  }

  std::vector<Pass> passes(const PromptFacts& prompt) override {
    end_search();
    warned_ = false;
    if (searching_ && !save.empty()) check_writable(save);
    std::ranges::fill(found_, 0);
    return SparsePrefill::passes(prompt);
  }

  void attend(LayerStep& step) override {
    // Whether an earlier pass of the group has found the patterns.
    uint8_t& found = nth(found_, step.layer);
    const bool reaches = !step.decoding() && step.begin + step.rows >= search_at;
    const bool due = searching_ && found == 0 && reaches;
    if (searching_ && step.pass.last && !reaches && !save.empty() &&
        !std::exchange(warned_, true)) {
      warn("--attention minference: {} is not written: no pass reached search_at={} tokens", save,
           search_at);
    }
    if (due) found = 1;
    if (!due || step.own_window() > 0) return SparsePrefill::attend(step);
    search(step);
  }

  StoreCheck archive(Archive& archive) override {
    end_search();
    archive.flag(searching_);
    archive_patterns(archive, patterns_);
    return {};
  }

  ExtraMemory extra_memory(const KvLayout&, int64_t tokens, int rows) const override {
    return {.working = LastRows::bytes_for(shape_.heads, last, tokens) +
                       tile_bytes(shape_.heads, tokens, rows)};
  }

 private:
  HeadPattern one_for_all() const {
    constexpr HeadPattern kPublished[] = {{PatternKind::kVerticalSlash, 1000, 6096},
                                          {PatternKind::kAShape, 128, 3968},
                                          {PatternKind::kBlocks, 100, 0}};
    HeadPattern one = nth(kPublished, pattern);
    one.vertical = vertical.value_or(one.vertical);
    one.slash = slash.value_or(one.slash);
    if (one.kind == PatternKind::kAShape && one.slash == 0) {
      user_error("--attention minference: slash=0: an a_shape needs a window of at least 1");
    }
    return one;
  }

  bool choose_tiles(LayerStep& step, int first, std::span<TileRule> rules) override {
    choose_by(nth(patterns_, step.layer), step, first, rules);
    return true;
  }

  /// Sets the rules of all heads: selects columns, diagonals or blocks as the heads' patterns
  /// require.
  void choose_by(std::span<const HeadPattern> heads, LayerStep& step, int first,
                 std::span<TileRule> rules) {
    const View<const float> queries[] = {step.rotated_q()};
    rules_.choose({.call = step.call(queries),
                   .grid = grid(step),
                   .first = first,
                   .lists = step.lists(),
                   .only = step.only,
                   .last = last_rows(step, last),
                   .marks = marks()},
                  heads, rules);
  }

  /// Searches the patterns of the layer's heads, which all later passes use. The step itself is
  /// computed with dense attention.
  void search(LayerStep& step) {
    step.keep_lse();
    step.attend_all_keys(step.rows);
    const View<float> out = step.out, lse = step.lse;
    step.out = unused_.resize(*step.queue, out.size());
    step.lse = caught_.resize(*step.queue, lse.size());
    std::vector<HeadPattern> trial(static_cast<size_t>(shape_.heads)), best(trial);
    search_patterns(
        {*step.queue, step.begin, lse},
        [&](const HeadPattern& candidate) -> View<const float> {
          std::fill(trial.begin(), trial.end(), candidate);
          choose_by(trial, step, 0, new_rules(step));
          attend_tiles(step, 0);
          return step.lse;
        },
        best);
    step.out = out;
    step.lse = lse;
    for (size_t head = 0; head < best.size(); ++head) {
      if (!step.attends(static_cast<int>(head) / step.group())) continue;
      nth(patterns_, step.layer)[head] = best[head];
    }
    if (!save.empty()) write_found();  // the file is complete after the last layer
  }

  /// Ends the search at the end of the prompt in which it has found the patterns.
  void end_search() { searching_ = searching_ && std::ranges::count(found_, 1) == 0; }

  /// Writes the patterns to the file of the option `save`. Only warns on failure, so that the
  /// prefill is not lost.
  void write_found() const {
    try {
      write_patterns(save, patterns_);
    } catch (const UserError& error) {
      warn("{}", error.what());
    }
  }

  ModelShape shape_;
  bool searching_ = false, warned_ = false;
  std::vector<uint8_t> found_;  ///< per layer: whether the current prompt has found its patterns
  HeadPatterns patterns_;
  PatternRules rules_;
  Array<float> unused_, caught_;  // buffers of a search
};

}  // namespace

MethodInfo minference_method() {
  MethodInfo info = method_info<MInference>({.name = "minference"});
  info.summary = "keeps every key; heads read a prompt by fixed patterns, filled in as they look";
  info.when = "faster prefill of long prompts within the trained length";
  info.keeps =
      "every key and value; while a prompt is read, each head computes only the pairs of its "
      "pattern";
  info.harms =
      "short prompts, where choosing pairs costs more than it saves, and heads whose needs the "
      "last rows of the prompt do not show";
  info.paper = "MInference 1.0: Accelerating Pre-filling for Long-Context LLMs, arXiv 2407.02490";
  info.covers = {"", "dense_below=0,vertical=700,slash=1", "dense_below=0,vertical=0,slash=700",
                 "dense_below=0,pattern=a_shape,vertical=0,slash=700",
                 "dense_below=0,pattern=blocks,vertical=100"};
  info.small = {{"dense_below=0,vertical=8,slash=0"},
                {"dense_below=0"},
                {"dense_below=0,pattern=a_shape,vertical=2,slash=8"},
                {.options = "dense_below=0,patterns=search,search_at=100", .saves_nothing = true}};
  return info;
}

}  // namespace longhaul
