#pragma once
// Shared parts of InfLLM and Ltri-LLM (docs/methods/infllm.md). The context is divided into initial
// tokens, blocks, and a remainder that contains the window (ops/blocks/context_split.h). A row sees
// the tokens of its window at their true distances. It also sees the initial tokens, the blocks
// that its step has selected, and aged tokens, all at one constant distance. Aged tokens are tokens
// of the remainder that are too old for the row's window. A step is one pass in one layer. The KV
// store offloads blocks that are not in use.

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

/// Selects between the paper and the published code where they differ.
enum class BlockFidelity : uint8_t { kPaper, kRepo };

struct BlockOptions : ContextSizes {
  std::optional<int64_t> n_local;  ///< value of the option n_local; empty: fit() sets `local`
  int64_t topk = 16;               ///< number of blocks that a step selects
  int64_t chunk = 512;             ///< largest number of rows of a step
  int64_t cached = 32;             ///< number of blocks kept in memory, with LRU replacement
  BlockFidelity fidelity = BlockFidelity::kRepo;

  /// Returns the constant distance of initial tokens, blocks and aged tokens.
  int64_t angle() const { return fidelity == BlockFidelity::kRepo ? local - 1 : local; }

  /// Declares n_init, n_local, block and topk.
  void declare_sizes(OptionList& o, int64_t most_of_block);
  void declare_chunk(OptionList& o);
  void declare_cached(OptionList& o);
  void declare_fidelity(OptionList& o);
  /// Sets `local` to n_local if it is given. Otherwise sets it to an eighth of the trained context
  /// length, limited to 1,024 to 4,096 tokens.
  void fit(const ModelShape& shape);
  /// Throws UserError if the blocks of a step do not fit in memory together.
  void check(std::string_view method) const;
};

/// Blocks whose tokens leave the remainder.
struct AgedBlocks {
  int64_t first = 0;  ///< first token; also its row in the store
  /// [blocks, block, heads]: attention probability that each token has received so far from all
  /// rows that had the token in their window.
  View<const float> votes;
};

class ContextBlocks {
 public:
  ContextBlocks() = default;
  ContextBlocks(const BlockOptions& options, const ModelShape& shape);

  /// The two functions return the plans, which are the same for all layers and heads.
  static MethodPlan method_plan() { return {.place = KeyPlace::kOwn, .begins_together = true}; }
  ListPlan plan() const;
  /// Returns the bytes of working memory for a batch of `rows` rows. The rotated copy of their
  /// queries is not included, because the decoder counts it.
  size_t working_bytes(int64_t rows) const;
  /// Returns the largest number of tokens of a remainder during a step.
  int64_t most_remainder() const { return o_.local + o_.chunk + o_.block; }
  /// Returns the largest size in bytes of the votes of a layer.
  size_t vote_bytes() const { return SlidingRows::bytes_for(most_remainder(), shape_.heads); }

  /// Starts a prompt. The steps of the prompt, and the tokens generated after it, see the blocks
  /// that contain tokens of prompt.evidence in addition to the selected blocks.
  void begin_prompt(const PromptFacts& prompt);

  // Functions for all rows of a batch (`all`), which do not depend on the selection of blocks:
  /// Prepares the windows of the rows. Call it before all other functions of the layer. If the
  /// batch has several steps, this function also computes the attention of all of them to the
  /// windows, because one large call uses a device better than a call per step.
  void begin_layer(LayerStep& all);
  /// Computes the attention to the windows, unless begin_layer() has done it. The result can be
  /// used to select blocks.
  void attend_near(LayerStep& all);

  /// Starts a step.
  void begin(LayerStep& step);

  // Functions of the current step:
  /// Returns the division of the context before the step.
  const ContextSplit& split() const { return split_; }
  /// Returns false if the model itself has a sliding window in the layer.
  bool retrieves() const { return retrieves_; }
  /// Returns the queries of the step, rotated to the constant distance.
  View<const float> far_q() const { return far_q_.view(); }
  /// Returns the parameters for recomputing the attention to the window. `step` is one step, or
  /// after attend_near() the combined step of all rows. Before attend() the probabilities are
  /// normalised over the window. After attend() they are normalised over all keys that the rows
  /// saw.
  WindowRows window_rows(const LayerStep& step);

  /// Computes the attention to the window, the initial tokens, the aged tokens, the blocks `chosen`
  /// (ascending) and the blocks of prompt.evidence.
  void attend(LayerStep& step, const RowList& chosen);

  /// Updates the votes of the tokens of the remainder: the attention probability that each token
  /// has received within the windows. Call it after attend() in every step of a layer that selects
  /// blocks by votes. It updates only the votes of tokens that leave the remainder with this step.
  /// The updated votes include the attention of all steps so far. In the last step of a batch, it
  /// updates the votes of all tokens of the remainder.
  void vote(LayerStep& step);
  /// Returns the number of blocks that leave the remainder with this step. The first of them is
  /// block split().blocks. Call it after vote().
  int64_t aged() const { return next_.blocks - split_.blocks; }
  /// Returns `count` of these blocks. `first` is the index of the first one among them.
  AgedBlocks aged(const LayerStep& step, int64_t first, int64_t count);
  /// Ends the step in this layer. Tokens that have left the window become aged tokens.
  void end(LayerStep& step);

  void archive(Archive& archive);
  using LooksUp = std::function<bool(int layer)>;
  using IndexFits = std::function<bool(int layer, int64_t blocks)>;
  /// Checks that the restored store contains the whole context, and that the rows which must be in
  /// memory are in memory. Layers for which `looks_up` is true must have votes. `fits` must return
  /// true for each layer and the number of its blocks. Throws UserError.
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
  void run_at_once(LayerStep& step, std::span<const View<const float>> forms,
                   int segments_per_head);

  BlockOptions o_;
  ModelShape shape_;
  std::vector<SlidingRows> votes_;  ///< per layer: [tokens of the remainder, heads]
  std::vector<BlockCache> cached_;  ///< per layer: cache of its blocks

  PerRope<RotationBuffer> angle_table_;
  const Rotations *rotations_ = nullptr, *far_rotation_ = nullptr;
  ContextSplit split_, next_;  ///< the division of the context before the step and after it
  bool retrieves_ = false, voted_ = false;
  // State of the batch:
  bool near_ = false;         ///< whether the attention to the windows has been computed
  int64_t first_ = 0;         ///< the token at position 0: first token of the windows
  Array<float> near_q_;       ///< queries, rotated to their positions within the windows
  Array<uint8_t> rounded_q_;  ///< near_q_ in bf16; empty if the batch has only one step
  Array<float> lse_;
  // State of a step:
  Array<float> far_q_;  ///< queries of the step at the constant distance
  Array<float> far_out_, far_lse_;
  View<const float> forms_[2];   ///< query arrays of the step: near_q_ and far_q_
  View<const float> near_form_;  ///< part of near_q_ for the rows whose attention is recomputed
  /// Blocks of prompt.evidence, ascending; a step sees those that are complete.
  std::vector<int32_t> evidence_;
  Array<int32_t> far_list_, with_evidence_;
  RowList far_rows_;  ///< rows of each list that all query rows of the step see
  std::vector<KeySegment> segments_;
  WindowSums sums_;
};

}  // namespace longhaul
