#pragma once
// Shared parts of InfLLM and Ltri-LLM (docs/methods/infllm.md). A context consists of initial
// tokens, blocks, and a remainder that contains the window. A row sees its window at true
// distances. At one constant distance it sees the initial tokens, the blocks selected by its step,
// and remainder tokens too old for its window. Blocks not in use are offloaded by the KV store.

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "attention/method.h"
#include "base/nth.h"
#include "kv/block_cache.h"
#include "ops/attention/sliding_rows.h"
#include "ops/attention/window_rows.h"
#include "ops/blocks/context_split.h"
#include "text/options.h"

namespace longhaul {

enum class BlockFidelity : uint8_t { kPaper, kRepo };

struct BlockOptions : ContextSizes {
  std::optional<int64_t> n_local;  ///< `local` as the user gave it
  int64_t topk = 16;               ///< blocks selected by a step
  int64_t chunk = 512;             ///< most rows of a step
  int64_t cached = 32;             ///< blocks kept in memory, with LRU replacement
  BlockFidelity fidelity = BlockFidelity::kRepo;

  /// Constant distance of initial tokens, blocks and aged tokens.
  int64_t angle() const { return fidelity == BlockFidelity::kRepo ? local - 1 : local; }

  void declare_sizes(OptionList& o, int64_t most_of_block);  ///< window, blocks and topk
  void declare_chunk(OptionList& o);
  void declare_cached(OptionList& o);
  void declare_fidelity(OptionList& o);
  /// Sets `local`: without n_local an eighth of the trained length, between 1,024 and 4,096 tokens.
  void fit(const ModelShape& shape);
  /// Throws UserError if the blocks of a step cannot be kept in memory together.
  void check(std::string_view method) const;
};

/// Blocks that leave the remainder.
struct AgedBlocks {
  int64_t first = 0;  ///< first token, and row of the store
  /// [blocks, block, heads]: total probability that each token received within the windows of all
  /// rows so far.
  View<const float> votes;
};

class ContextBlocks {
 public:
  ContextBlocks() = default;
  ContextBlocks(const BlockOptions& options, const ModelShape& shape);

  /// The plans for all layers and heads.
  static MethodPlan method_plan() { return {.place = KeyPlace::kOwn, .begins_together = true}; }
  ListPlan plan() const;
  /// Bytes of working memory for a batch of `rows` rows, without the rotated copy of their queries,
  /// which the decoder counts.
  size_t working_bytes(int64_t rows) const;
  /// Most rows of a remainder during a step.
  int64_t most_remainder() const { return o_.local + o_.chunk + o_.block; }
  /// Most bytes of the votes of a layer.
  size_t vote_bytes() const { return SlidingRows::bytes_for(most_remainder(), shape_.heads); }

  /// Called before a prompt. Its steps, and the tokens generated after it, see the blocks of
  /// prompt.evidence in addition to the selected blocks.
  void begin_prompt(const PromptFacts& prompt);

  // Work that depends on no look-up, done for all rows of the batch (`all`):
  /// Prepares the rows' windows. Call it first. If the batch has several steps, it also attends to
  /// their windows, because one large call uses a device better than a call per step.
  void begin_layer(LayerStep& all);
  /// Attends to the windows if begin_layer() has not. The result may be used to select blocks.
  void attend_near(LayerStep& all);

  /// Begins a step.
  void begin(LayerStep& step);

  // Functions of the current step:
  const ContextSplit& split() const { return split_; }  ///< as seen by the step's rows
  bool retrieves() const { return retrieves_; }  ///< false if the layer has the model's own window
  View<const float> far_q() const { return far_q_.view(); }  ///< rotated to the constant distance
  /// Parameters for recomputing window attention, for a step or, after attend_near(), for all rows.
  /// Before attend() it is normalised over the window, afterwards over all keys that the rows saw.
  WindowRows window_rows(const LayerStep& step);

  /// Attends to the window, the initial and aged tokens, the blocks `chosen` (ascending) and the
  /// evidence blocks.
  void attend(LayerStep& step, const RowList& chosen);

  /// Call after attention in every step of layers that need votes. Adds the attention of the steps
  /// so far to the votes of the remainder, for tokens that leave it with this step. In the last
  /// step of a batch it does so for all tokens.
  void vote(LayerStep& step);
  /// Number of blocks that leave the remainder with the step, beginning with split().blocks. Call
  /// after vote().
  int64_t aged() const { return next_.blocks - split_.blocks; }
  /// `count` of these blocks, beginning with block `first`.
  AgedBlocks aged(const LayerStep& step, int64_t first, int64_t count);
  /// Ends the layer's step: tokens that leave the window become aged.
  void end(LayerStep& step);

  void archive(Archive& archive);
  using LooksUp = std::function<bool(int layer)>;
  using IndexFits = std::function<bool(int layer, int64_t blocks)>;
  /// Checks that the restored store holds the context and that rows which must be in memory are.
  /// Layers that look up must have votes, and the index of each must fit its blocks. Throws
  /// UserError.
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
  // State of the batch:
  bool near_ = false;         ///< attention to the windows is done
  int64_t first_ = 0;         ///< token at position 0: the first token of the windows
  Array<float> near_q_;       ///< rotated to positions within the windows
  Array<uint8_t> rounded_q_;  ///< near_q_ in bf16; empty if the batch is a single step
  Array<float> lse_;
  // State of a step:
  Array<float> far_q_;
  View<const float> forms_[2];     ///< forms of its queries: near, far
  View<const float> near_form_;    ///< queries of the rows that are recomputed
  std::vector<int32_t> evidence_;  ///< blocks that every step sees once they are complete
  Array<int32_t> far_list_, with_evidence_;
  RowList far_rows_;  ///< rows of every list that all rows of the step see
  std::vector<KeySegment> segments_;
  WindowSums sums_;
};

}  // namespace longhaul
