// MInference (docs/methods/minference.md): every query head reads a prompt by one of three
// patterns. In tiles of 64 rows it sees
//   a_shape         the first keys and a window;
//   vertical_slash  the columns and diagonals that its last 64 rows attend to most;
//   blocks          the blocks of 64 keys whose mean is closest to the mean query.
// Rows of one pass share the choice of its last rows. Patterns come from a file or from a search:
// in one pass, whose rows see everything, each head takes the candidate that catches most of its
// attention.

#include <algorithm>

#include "attention/head_pattern_search.h"
#include "attention/head_patterns.h"
#include "attention/registry.h"
#include "attention/sparse_prefill.h"
#include "attention/vertical_slash.h"
#include "base/byte_stream.h"
#include "base/error.h"
#include "base/parallel.h"
#include "ops/mean_keys.h"
#include "ops/ranking.h"

namespace longhaul {
namespace {

constexpr int kTile = VerticalSlash::kTile;

HeadPattern one_for_all(const MethodOptions& options) {
  constexpr HeadPattern kPublished[] = {{PatternKind::kAShape, 128, 3968},
                                        {PatternKind::kVerticalSlash, 1000, 6096},
                                        {PatternKind::kBlocks, 100, 0}};
  const std::string& kind = options.text("pattern");
  HeadPattern pattern = kPublished[kind == "a_shape" ? 0 : kind == "vertical_slash" ? 1 : 2];
  pattern.vertical = options.optional_integer("vertical").value_or(pattern.vertical);
  pattern.slash = options.optional_integer("slash").value_or(pattern.slash);
  if (pattern.kind == PatternKind::kAShape && pattern.slash == 0) {
    user_error("--attention minference: slash=0: an a_shape needs a window of at least 1");
  }
  return pattern;
}

class MInference final : public SparsePrefill {
 public:
  MInference(const MethodOptions& options, const ModelShape& shape)
      : SparsePrefill(kTile, options.integer("dense_below")),
        shape_(shape),
        last_rows_(static_cast<int>(options.integer("last"))),
        search_at_(options.integer("search_at")),
        save_(options.text("save")) {
    const std::string& file = options.text("patterns");  // none where numbers go before it
    searching_ = file == "search";
    if (!file.empty() && !searching_) {
      patterns_ = read_patterns(file, shape.layers, shape.heads);
      return;
    }
    const size_t heads = static_cast<size_t>(shape.heads);
    patterns_.assign(static_cast<size_t>(shape.layers),
                     std::vector<HeadPattern>(heads, one_for_all(options)));
  }

  std::vector<Pass> prepare(const PromptFacts& prompt) override {
    if (searching_ && !save_.empty()) check_writable(save_);
    return SparsePrefill::prepare(prompt);
  }

  void attend(LayerStep& step) override {
    SparsePrefill::attend(step);
    if (!searching_ || step.decoding || step.begin + step.rows < search_at_) return;
    found_ = true;
    if (shape_.own_window(step.layer) > 0) return;
    patterns_[static_cast<size_t>(step.layer)] = search(step);
  }

  void retain(KvStore&, const Pass&, bool last_of_prompt) override {
    if (!searching_) return;
    if (found_) {
      searching_ = false;
      if (!save_.empty()) write_found();
    } else if (last_of_prompt && !save_.empty()) {
      warn("--attention minference: {} is not written: no pass reached search_at={} tokens", save_,
           search_at_);
    }
  }

  void save(ByteWriter& out) const override {
    out.number<uint8_t>(searching_ ? 1 : 0);
    save_patterns(out, patterns_);
  }

  void restore(ByteReader& in) override {
    searching_ = in.number<uint8_t>() != 0;
    restore_patterns(in, patterns_);
  }

  size_t working_bytes(int64_t tokens, int) const override {
    return LastRows::bytes_for(shape_, tokens);
  }

 private:
  bool estimate(LayerStep& step) override {
    heads_ = patterns_[static_cast<size_t>(step.layer)];
    look(step);
    return true;
  }

  /// What has been read is not lost for a file that fails.
  void write_found() const {
    try {
      write_patterns(save_, patterns_);
    } catch (const UserError& error) {
      warn("{}", error.what());
    }
  }

  /// What the patterns of heads_ are filled in with.
  void look(LayerStep& step) {
    const float* queries[] = {step.rotated_q()};
    const auto has = [&](PatternKind kind) {
      return std::any_of(heads_.begin(), heads_.end(),
                         [kind](const HeadPattern& p) { return p.kind == kind; });
    };
    if (has(PatternKind::kVerticalSlash)) {
      last_.look(step, queries, last_rows_);
      choose_lines();
    }
    if (has(PatternKind::kBlocks)) average_keys(step);
  }

  void choose_lines() {
    lines_.resize(heads_.size());
    parallel_for(std::ssize(heads_), [&](int64_t head, int) {
      const HeadPattern& p = heads_[static_cast<size_t>(head)];
      if (p.kind != PatternKind::kVerticalSlash) return;
      const int h = static_cast<int>(head);
      lines_[static_cast<size_t>(head)].choose(last_.columns(h), p.vertical, last_.diagonals(h),
                                               p.slash);
    });
  }

  void choose(const LayerStep& step, const RowTile& tile, TileKeys& keys) const override {
    const HeadPattern& p = heads_[static_cast<size_t>(tile.head)];
    if (p.kind == PatternKind::kAShape) {
      keys.set_a_shape(p.vertical, p.slash);
    } else if (p.kind == PatternKind::kVerticalSlash) {
      lines_[static_cast<size_t>(tile.head)].add_to(tile_end(tile.position), keys);
    } else {
      choose_blocks(step, tile, p.vertical, keys);
    }
  }

  void choose_blocks(const LayerStep& step, const RowTile& tile, int64_t count,
                     TileKeys& keys) const {
    const int dim = shape_.head_dim;
    const int64_t blocks = tile_end(tile.position) / kTile;
    std::vector<float> query(static_cast<size_t>(dim)), scores(static_cast<size_t>(blocks));
    mean_query(step.workspace->rotated_q.data(), shape_.heads, dim, tile.head, tile.row_begin,
               tile.row_begin + tile.row_count, query.data());
    mean_scores(query.data(), means(tile.head / step.group()), blocks, dim, 1.0f, scores.data());
    for (const int32_t block : top_indices(scores, count)) {
      keys.add(int64_t{block} * kTile, int64_t{block + 1} * kTile);
    }
  }

  /// The layer's patterns for all passes to come. The step's result becomes that of dense
  /// attention.
  std::vector<HeadPattern> search(const LayerStep& step) {
    const size_t results = static_cast<size_t>(step.rows * shape_.heads);
    std::vector<float> dense_lse(results), unused(results * static_cast<size_t>(shape_.head_dim));
    LayerStep dense = step, trial = step;
    dense.lse = dense_lse.data();
    attend_dense(dense, step.rows);
    trial.out = unused.data();
    return search_patterns({step.begin, step.rows, shape_.heads, dense_lse},
                           [&](const HeadPattern& candidate, std::span<float> lse) {
                             heads_.assign(static_cast<size_t>(shape_.heads), candidate);
                             trial.lse = lse.data();
                             look(trial);
                             attend_tiles(trial, 0);
                           });
  }

  ModelShape shape_;
  int last_rows_;
  int64_t search_at_;
  std::string save_;
  bool searching_ = false;
  bool found_ = false;  // in the pass that is being read
  HeadPatterns patterns_;
  std::vector<HeadPattern> heads_;  // of the tiles that choose: the layer's, or a candidate's
  LastRows last_;
  std::vector<VerticalSlash> lines_;  // [heads], of vertical_slash heads
};

constexpr OptionInfo kOptions[] = {
    {"patterns", OptionKind::kFile, "", "", 0, 0, "",
     "JSON file with a pattern for every head, or `search`; empty: one for all heads",
     "patterns=search or no vertical and no slash"},
    {"pattern", OptionKind::kChoice, "vertical_slash", "", 0, 0, "vertical_slash|a_shape|blocks",
     "the pattern of all heads without a file (while searching: until then)",
     "no patterns or patterns=search or vertical or slash"},
    {"vertical", OptionKind::kInteger, "auto", "tokens", 0, 1 << 24, "",
     "its columns, sinks or blocks, of all heads even where the profile names a file; auto: "
     "published, 1000, 128, 100"},
    {"slash", OptionKind::kInteger, "auto", "tokens", 0, 1 << 24, "",
     "its diagonals or window, likewise; auto: published, 6096, 3968", "pattern!=blocks"},
    {"last", OptionKind::kInteger, "64", "tokens", 1, 4096, "",
     "rows at the end of a pass that score columns and diagonals for it",
     "pattern=vertical_slash or patterns=search"},
    {"search_at", OptionKind::kInteger, "8192", "tokens", 1, 1 << 30, "",
     "the search is made in the pass that reaches this depth", "patterns=search"},
    {"save", OptionKind::kOutputFile, "", "", 0, 0, "", "file for what the search found",
     "patterns=search"},
    {"dense_below", OptionKind::kInteger, "4096", "tokens", 0, 1 << 30, "",
     "rows before this depth see everything"},
};

}  // namespace

MethodInfo minference_method() {
  MethodInfo info;
  info.name = "minference";
  info.summary = "keeps every key; heads read a prompt by fixed patterns, filled in as they look";
  info.when = "faster prefill of long prompts within the trained length";
  info.keeps =
      "every key and value; while a prompt is read, each head computes only the pairs of its "
      "pattern";
  info.harms =
      "short prompts, where choosing pairs costs more than it saves, and heads whose needs the "
      "last rows of the prompt do not show";
  info.paper = "MInference 1.0: Accelerating Pre-filling for Long-Context LLMs, arXiv 2407.02490";
  info.options = kOptions;
  info.make = [](const MethodOptions& o, const ModelShape& s) -> std::unique_ptr<AttentionMethod> {
    return std::make_unique<MInference>(o, s);
  };
  return info;
}

}  // namespace longhaul
