#pragma once
// ContextBlocks computes the attention that the methods InfLLM and Ltri-LLM have in common
// (docs/methods/infllm.md). The context is divided into initial tokens, blocks of equal length, and
// a remainder (ops/blocks/context_split.h). The window of a query row consists of the last tokens
// up to the row, all of which are in the remainder. A row sees the tokens of its window at their
// true distances. It also sees the initial tokens, the blocks that its step has selected, and the
// aged tokens, all at one constant distance. Aged tokens are tokens of the remainder that are too
// old for the row's window.
//
// A step is the work of one layer in one pass (attention/step.h). All rows of a step see the same
// blocks. A batch is the group of passes that are computed together. The KV store offloads blocks
// that are not in use to disk.

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

/// Selects whether the method follows the paper or the published code where the two differ.
enum class BlockFidelity : uint8_t { kPaper, kRepo };

struct BlockOptions : ContextSizes {
  /// Value of the option n_local; if empty, fit() computes `local`.
  std::optional<int64_t> n_local;
  int64_t topk = 16;    ///< number of blocks that a step selects
  int64_t chunk = 512;  ///< largest number of rows of a step
  int64_t cached = 32;  ///< number of blocks in memory (LRU cache); others are on disk
  BlockFidelity fidelity = BlockFidelity::kRepo;

  /// Returns the constant distance at which rows see initial tokens, blocks and aged tokens.
  int64_t angle() const { return fidelity == BlockFidelity::kRepo ? local - 1 : local; }

  /// Declares n_init, n_local, block and topk.
  void declare_sizes(OptionList& o, int64_t most_of_block);
  void declare_chunk(OptionList& o);
  void declare_cached(OptionList& o);
  void declare_fidelity(OptionList& o);
  /// Sets `local`, the size of a row's window, to n_local if that is given. Otherwise sets it to an
  /// eighth of the trained context length, but at least 1,024 and at most 4,096 tokens.
  void fit(const ModelShape& shape);
  /// Throws UserError if `cached` is smaller than `topk`, because all blocks that a step selects
  /// must be in memory.
  void check(std::string_view method) const;
};

/// Blocks that leave the remainder.
struct AgedBlocks {
  int64_t first = 0;  ///< first token of the first block; also its row in each list of the store
  /// [blocks, block, heads]: attention probability that each token has received from all query rows
  /// that had the token in their window.
  View<const float> votes;
};

class ContextBlocks {
 public:
  ContextBlocks() = default;
  ContextBlocks(const BlockOptions& options, const ModelShape& shape);

  /// method_plan() and plan() return the method's rules (attention/plan.h), which are equal for all
  /// layers and heads.
  static MethodPlan method_plan() { return {.place = KeyPlace::kOwn, .begins_together = true}; }
  ListPlan plan() const;
  /// Returns the size in bytes of the working memory for a batch of `rows` rows. The rotated
  /// queries near_q_ are not included, because the forecast of the decoder includes them.
  size_t working_bytes(int64_t rows) const;
  /// Returns the largest number of tokens in the remainder during a step.
  int64_t most_remainder() const { return o_.local + o_.chunk + o_.block; }
  /// Returns the largest size in bytes of the votes of a layer.
  size_t vote_bytes() const { return SlidingRows::bytes_for(most_remainder(), shape_.heads); }

  /// Starts a prompt. Its rows and the tokens generated after it see the blocks that contain tokens
  /// of prompt.evidence, in addition to the selected blocks.
  void begin_prompt(const PromptFacts& prompt);

  // The next two functions process all rows of a batch (LayerStep::all). They do not depend on the
  // selection of blocks.
  /// Prepares the queries and rotations for the windows. Call it in each layer before all other
  /// functions. If the batch has several steps, this function also computes the attention of all of
  /// them to the windows, because a device computes one large call faster than one call per step.
  void begin_layer(LayerStep& all);
  /// Computes the attention to the windows, unless begin_layer() has done it. Call it if the
  /// selection of blocks needs this attention.
  void attend_near(LayerStep& all);

  /// Starts a step of the batch.
  void begin(LayerStep& step);

  // The following functions are about the current step.
  /// Returns the division of the context as it was before the step.
  const ContextSplit& split() const { return split_; }
  /// Returns whether rows of this layer see blocks. False if the model itself has a sliding window
  /// in the layer.
  bool retrieves() const { return retrieves_; }
  /// Returns the queries of the step, rotated so that unrotated keys are at the constant distance
  /// angle().
  View<const float> far_q() const { return far_q_.view(); }
  /// Returns the arguments for operations that recompute the attention probabilities of the rows of
  /// `step` to their windows. `step` must be the current step, or (only after attend_near()) the
  /// combined step of all rows. Before attend(), the probabilities are normalised over the window.
  /// After attend(), they are normalised over all keys that the rows saw.
  WindowRows window_rows(const LayerStep& step);

  /// Computes the attention of the step's rows to their windows, the initial tokens, the aged
  /// tokens, the blocks `chosen` (block numbers, ascending) and the blocks of prompt.evidence.
  void attend(LayerStep& step, const RowList& chosen);

  /// Updates votes. The votes of a token are the attention probability that it has received from
  /// all rows that had it in their window. Call vote() after attend() in every step of a layer that
  /// uses votes. Only tokens that leave the remainder with this step are updated, or all tokens of
  /// the remainder in the last step of a batch. Updated votes include the attention of all steps so
  /// far.
  void vote(LayerStep& step);
  /// Returns the number of blocks that leave the remainder with this step. The first of them has
  /// block number split().blocks. Call it after vote().
  int64_t aged() const { return next_.blocks - split_.blocks; }
  /// Returns `count` of the blocks that leave the remainder with this step. `first` is the index of
  /// the first one among them.
  AgedBlocks aged(const LayerStep& step, int64_t first, int64_t count);
  /// Ends the step. The tokens that leave the remainder with it may then be offloaded.
  void end(LayerStep& step);

  void archive(Archive& archive);
  using LooksUp = std::function<bool(int layer)>;
  using IndexFits = std::function<bool(int layer, int64_t blocks)>;
  /// Checks a restored state. Throws UserError in these cases: the store does not contain the whole
  /// context; initial tokens or tokens of the remainder are not in memory; a layer for which
  /// looks_up() returns true has no votes; fits() returns false for a layer and its number of
  /// blocks.
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
  std::vector<SlidingRows> votes_;  ///< per layer: votes [tokens of the remainder, heads]
  std::vector<BlockCache> cached_;  ///< per layer: cache of its blocks

  PerRope<RotationBuffer> angle_table_;
  const Rotations *rotations_ = nullptr, *far_rotation_ = nullptr;
  ContextSplit split_, next_;  ///< divisions of the context before and after the step
  bool retrieves_ = false, voted_ = false;
  // The next members belong to the current batch.
  bool near_ = false;    ///< whether the attention to the windows has been computed
  int64_t first_ = 0;    ///< token whose RoPE position is 0: the first token of the windows
  Array<float> near_q_;  ///< queries, rotated to their positions within the windows
  /// near_q_ in bf16, on a device; empty if the batch has only one step.
  Array<uint8_t> rounded_q_;
  Array<float> lse_;
  // The next members belong to the current step.
  Array<float> far_q_;  ///< queries of the step at the constant distance
  Array<float> far_out_, far_lse_;
  View<const float> forms_[2];   ///< versions of the step's queries: near_q_ and far_q_
  View<const float> near_form_;  ///< part of near_q_ that window_rows() refers to
  /// Blocks with tokens of prompt.evidence, ascending. A step sees those that have left the
  /// remainder.
  std::vector<int32_t> evidence_;
  Array<int32_t> far_list_, with_evidence_;
  /// Stored rows of initial tokens and blocks, which all query rows of the step see.
  RowList far_rows_;
  std::vector<KeySegment> segments_;
  WindowSums sums_;
};

}  // namespace longhaul
