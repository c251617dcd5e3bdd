#pragma once
// What InfLLM and Ltri-LLM share (docs/methods/infllm.md): a context of initial tokens, blocks, and
// a remainder that holds the window. A row sees the window at its distances and, as if all stood at
// one distance, the initial tokens, the blocks that its step has chosen, and remainder tokens that
// are too old for its window. Blocks that are not in use lie in the slower tier of the KV store.

#include <algorithm>
#include <functional>
#include <vector>

#include "attention/method.h"
#include "base/nth.h"
#include "kv/block_cache.h"
#include "ops/context_split.h"
#include "ops/sliding_rows.h"
#include "ops/window_rows.h"
#include "text/options.h"

namespace longhaul {

enum class BlockFidelity : uint8_t { kPaper, kRepo };

struct BlockOptions : ContextSizes {
  int64_t topk = 16;    ///< blocks chosen by a step
  int64_t chunk = 512;  ///< most rows of a step
  int64_t cached = 32;  ///< blocks kept in memory, least recently used first out
  BlockFidelity fidelity = BlockFidelity::kRepo;

  /// Distance at which initial tokens, blocks and aged tokens stand.
  int64_t angle() const { return fidelity == BlockFidelity::kRepo ? local - 1 : local; }

  void declare_sizes(OptionList& o, int64_t most_of_block);  ///< window, blocks and topk
  void declare_chunk(OptionList& o);
  void declare_cached(OptionList& o);
  void declare_fidelity(OptionList& o);
  /// Throws UserError when the blocks of a step cannot be kept in memory together.
  void check(std::string_view method) const;
};

/// Blocks that leave the remainder.
struct AgedBlocks {
  int64_t first = 0;  ///< token, and row of the store
  /// [blocks, block, heads]: probability that each of its tokens got within the windows of all rows
  /// so far.
  View<const float> votes;
};

class ContextBlocks {
 public:
  ContextBlocks() = default;
  ContextBlocks(const BlockOptions& options, const ModelShape& shape);

  /// For all layers and heads.
  Plan plan() const;
  /// Bytes of working memory for `rows` that are computed together, beside a rotated copy of their
  /// queries, which the decoder counts.
  size_t working_bytes(int64_t rows) const;
  /// Most rows of a remainder while steps are read.
  int64_t most_remainder() const { return o_.local + o_.chunk + o_.block; }
  /// Most bytes of the votes of a layer.
  size_t vote_bytes() const { return SlidingRows::bytes_for(most_remainder(), shape_.heads); }

  /// Before a prompt: its steps see the blocks of prompt.evidence beside those that they choose,
  /// and so do the tokens generated after it.
  void begin_prompt(const PromptFacts& prompt);

  // What depends on no look-up, which is done for all rows that are computed together (`all`):
  /// Lays out their windows. Call it first. Where they are several steps it attends to the windows
  /// at once, which fills a device better than to one after the other.
  void begin_layer(LayerStep& all);
  /// Attention to the windows, where begin_layer() has not attended: it may choose the blocks.
  void attend_near(LayerStep& all);

  /// Begins a step.
  void begin(LayerStep& step);

  // Of the step that has begun:
  const ContextSplit& split() const { return split_; }  ///< as the step's rows see it
  bool retrieves() const { return retrieves_; }  ///< false where the model has a window of its own
  View<const float> far_q() const { return far_q_.view(); }  ///< rotated to the constant angle
  /// What reads the attention of the window again, of a step or, after attend_near(), of all rows:
  /// until attend() by the window's denominators, then by those of everything that rows saw.
  WindowRows window_rows(const LayerStep& step);

  /// Attention over window, initial and aged tokens, the blocks `chosen` (ascending) and those of
  /// the evidence.
  void attend(LayerStep& step, const RowList& chosen);

  /// After attention, in layers that need votes, always: adds the attention of the steps so far to
  /// the votes of the remainder, for tokens that leave it with this step; with the last of the
  /// steps that are computed together, for all tokens.
  void vote(LayerStep& step);
  /// Blocks that leave the remainder with the step: split().blocks and those after it. After
  /// vote().
  int64_t aged() const { return next_.blocks - split_.blocks; }
  /// `count` of them, from number `first` on.
  AgedBlocks aged(const LayerStep& step, int64_t first, int64_t count);
  /// Ends the layer: lets tokens age.
  void end(LayerStep& step);

  void archive(Archive& archive);
  using LooksUp = std::function<bool(int layer)>;
  using IndexFits = std::function<bool(int layer, int64_t blocks)>;
  /// The store that came with it holds the context, and in memory what may not leave it; layers
  /// that look up have votes, and the index of each fits its blocks. Throws UserError.
  void check(const KvStore& store, int64_t tokens, const LooksUp& looks_up,
             const IndexFits& fits) const;

 private:
  SlidingRows& votes(const LayerStep& step) { return nth(votes_, step.layer); }
  int64_t position_of(const LayerStep& step) const { return step.begin - first_; }
  int64_t near_begin(const LayerStep& step) const;
  KeySegment near_keys(const LayerStep& step, int head) const;
  void near_segments(const LayerStep& step);
  WindowRows rows_from(const LayerStep& step, int64_t begin);
  void open_blocks(const LayerStep& step, const RowList& looked_up);
  void add_far_keys(const LayerStep& step, int head);
  void attend_far(LayerStep& step);
  std::span<const View<const float>> forms_of(const LayerStep& step);
  void run(LayerStep& step, std::span<const View<const float>> forms, int segments_per_head);

  BlockOptions o_;
  ModelShape shape_;
  std::vector<SlidingRows> votes_;  ///< per layer: [remainder tokens, heads]
  std::vector<BlockCache> cached_;  ///< per layer

  PerRope<RotationBuffer> angle_table_;
  const Rotations *rotations_ = nullptr, *far_rotation_ = nullptr;
  ContextSplit split_, next_;  ///< before the step and after it
  bool retrieves_ = false, voted_ = false;
  // Of the rows that are computed together:
  bool near_ = false;         ///< they have attended to their windows
  int64_t first_ = 0;         ///< token that stands at position 0: the first of their windows
  Array<float> near_q_;       ///< rotated to their positions in the windows
  Array<uint8_t> rounded_q_;  ///< the same in bf16; empty where they are one step
  Array<float> lse_;
  // Of a step:
  Array<float> far_q_;
  View<const float> forms_[2];     ///< of its queries: near, far
  View<const float> near_form_;    ///< of the rows that are looked at again
  std::vector<int32_t> evidence_;  ///< blocks that every step sees once they are blocks
  Array<int32_t> far_list_, with_evidence_;
  RowList far_rows_;  ///< that all rows of the step see, in every list
  std::vector<KeySegment> segments_;
  WindowSums sums_;
};

}  // namespace longhaul
