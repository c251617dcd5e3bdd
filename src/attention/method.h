#pragma once
// The contract of an attention method: a plan, and as many of the small programs below as it needs.
// Most eviction methods write plan() and score(). A program never looks at numbers: it passes views
// from one operation (ops/, kv/) to the next and decides by lengths and positions only, so that the
// same source runs where the numbers are.

#include <memory>

#include "attention/step.h"
#include "base/archive.h"
#include "ops/row_list.h"

namespace longhaul {

/// A cut of a layer's lists that is due: what score() judges rows by.
struct Cut {
  Queue& queue;
  const ModelShape& shape;
  const Plan& plan;
  KvStore& store;
  int layer = 0;
  int lists = 0;
  int64_t tokens = 0;  ///< of the context so far
  int64_t stay = 0;    ///< rows of a list after it
  int64_t recent = 0;  ///< of them: the last rows, which stay whatever their scores
  /// Per list: its rows, as they are stored.
  std::span<const PagedRows> keys;
  /// Per list [rows]: what the watched rows paid (Plan::watch); empty where none are.
  std::span<const View<const float>> paid;
  std::span<const View<float>> scores;  ///< per list [rows]: the highest stay

  int64_t rows(int list) const { return store.length(layer, list); }
  View<float> column(int list, size_t number) const {
    return store.column(layer, list, plan.columns[number]);
  }
};

/// What a method holds beside the rows, in bytes.
struct Beside {
  size_t index = 0;       ///< of the context's keys, now
  size_t most_index = 0;  ///< when prompts have made the context grow
  size_t working = 0;     ///< at most while they are read, beside the index
};

class Method {
 public:
  virtual ~Method() = default;

  /// What holds for a KV head's list in a context of `tokens` tokens, those of the pass included.
  virtual Plan plan(int layer, int kv_head, int64_t tokens) const = 0;

  /// A prompt begins: the passes that read it, or none where the plan says how. May refuse the
  /// prompt with UserError (names the option).
  virtual std::vector<Pass> passes(const PromptFacts&) { return {}; }

  /// Does what the rows of all passes that are computed together do alike. It is called in each
  /// layer before attend() is asked for the first of them, if the plan says so
  /// (Plan::begins_together), and the keys of all of them have been appended. `all` is a step of
  /// all their rows, as if they were one pass, and its `out` may be filled. A generated token is
  /// one pass of one row.
  virtual void begin_layer(LayerStep& /*all*/) {}

  /// Fills step.out. The keys have been appended (Plan: see.place). The default attends by the
  /// plan.
  virtual void attend(LayerStep& step);

  /// After attend(), where rows will be judged: adds to columns what the step's rows tell of keys.
  /// The default adds their attention to the plan's only column.
  virtual void observe(LayerStep& step);

  /// Writes cut.scores. The default: what was paid, or the plan's first column.
  virtual void score(const Cut& cut);

  /// Where the plan has no budget: the rows that stay by a rule of its own, of all layers that are
  /// cut. Those of the lists of cuts[i] of which some leave join kept[i].
  virtual void choose(std::span<const Cut>, std::span<std::vector<StayingRows>> /*kept*/) {}

  /// After each pass and generated token, in each layer behind its attention: what leaves the
  /// layer's lists, in all streams, by a rule of the method's own (When::kOwn).
  virtual void retain(LayerStep&) {}

  /// After each pass and generated token, all layers of it and of those computed with it done.
  virtual void after_pass(const Pass&) {}

  /// State beyond the stores, for session files: one function writes and reads it. Files may be
  /// hostile: it checks what it reads for itself, check() against the store that came with it, of a
  /// context of `tokens` tokens. Both throw UserError; check() without the file's name.
  virtual void archive(Archive&) {}
  virtual void check(const KvStore&, int64_t /*tokens*/) const {}

  /// What it holds beside the rows of a context of `tokens` tokens, read in passes of `chunk` rows,
  /// with keys kept as `layout` says.
  virtual Beside beside(const KvLayout&, int64_t /*tokens*/, int /*chunk*/) const { return {}; }
};

}  // namespace longhaul
