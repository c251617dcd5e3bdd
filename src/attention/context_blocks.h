#pragma once
// What InfLLM and Ltri-LLM share (docs/methods/infllm.md): a context of initial tokens, blocks, and
// a remainder that holds the window. A row sees the window at its distances and, as if all stood at
// one distance, the initial tokens, the blocks that its step has chosen, and remainder tokens that
// are too old for its window. Blocks that are not in use lie in the slower tier of the KV store.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attention/block_cache.h"
#include "attention/registry.h"

namespace longhaul {

struct BlockOptions {
  int64_t init = 128;    ///< tokens that every row sees
  int64_t local = 4096;  ///< window of a row, itself included
  int64_t block = 128;   ///< tokens
  int64_t topk = 16;     ///< blocks chosen by a step
  int64_t chunk = 512;   ///< most rows of a step
  int64_t cached = 32;   ///< blocks kept in memory, least recently used first out
  int64_t angle = 4095;  ///< distance at which initial tokens, blocks and aged tokens stand

  /// AttentionMethod::reach; a distance of the trained length itself, as published, passes.
  int64_t reach(int64_t tokens) const { return std::min(tokens, std::max(local, angle)); }
};

/// The options that block_options() reads, but for `block`, whose range is the method's.
namespace block_option {
// clang-format off
inline constexpr OptionInfo kInit = {
    "n_init", OptionKind::kInteger, "128", "tokens", 0, 1 << 20, "",
    "first tokens of the context, seen by every row"};
inline constexpr OptionInfo kLocal = {
    "n_local", OptionKind::kInteger, "4096", "tokens", 1, 1 << 24, "",
    "last tokens that a row sees, itself among them"};
inline constexpr OptionInfo kTopk = {
    "topk", OptionKind::kInteger, "16", "blocks", 0, 1 << 16, "",
    "blocks that a step looks up"};
inline constexpr OptionInfo kChunk = {
    "chunk", OptionKind::kInteger, "512", "tokens", 1, 1 << 16, "",
    "rows of a step, which look up the same blocks; --chunk caps it"};
inline constexpr OptionInfo kCached = {
    "cached", OptionKind::kInteger, "32", "blocks", 1, 1 << 20, "",
    "blocks kept in memory; the others lie in a temporary file"};
inline constexpr OptionInfo kFidelity = {
    "fidelity", OptionKind::kChoice, "repo", "", 0, 0, "paper|repo",
    "blocks seem to stand at distance n_local - 1 (repo) or n_local (paper)"};
// clang-format on
}  // namespace block_option

/// From the options n_init, n_local, block, topk, chunk, cached and fidelity. Throws UserError when
/// the blocks of a step cannot be kept in memory together.
BlockOptions block_options(std::string_view method, const MethodOptions& options);

/// How a context is split: [0, init), then `blocks` blocks, then the remainder. It depends on the
/// number of tokens only: the initial part fills first, from what is older than the window.
struct ContextSplit {
  int64_t init = 0, blocks = 0;
  int64_t remainder = 0;  ///< first token of it
};
ContextSplit split_context(const BlockOptions& options, int64_t tokens);

/// A block that has just left the remainder.
struct AgedBlock {
  int64_t number = 0;
  int64_t first = 0;  ///< token, and row of the store
  /// [block, heads]: probability that each of its tokens got within the windows of all rows so far.
  std::span<const float> votes;
};

class ContextBlocks {
 public:
  ContextBlocks(const BlockOptions& options, const ModelShape& shape);

  /// Begins a layer of a step: appends its keys and lays out the window. Call it first.
  void begin(LayerStep& step);

  // Of the step that has begun:
  const ContextSplit& split() const { return split_; }  ///< as the step's rows see it
  bool retrieves() const { return retrieves_; }  ///< false where the model has a window of its own
  const float* near_q() const { return near_q_.data(); }  ///< [rows, heads, head_dim], rotated
  const float* far_q() const { return far_q_.data(); }    ///< the same at the constant angle
  const std::vector<float>& lse() const { return lse_; }  ///< [rows, heads], after attend()
  /// Row r stands at near_position() + r, row i of the store at i - near_begin().
  int64_t near_position() const { return near_position_; }
  int64_t near_begin() const { return near_begin_; }
  KeySegment near_keys(const LayerStep& step, int head) const;
  /// What reads the attention of the window again (ops/column_sums.h, ops/tile_map.h). `queries`
  /// must outlive the call.
  AttendCall near_call(const LayerStep& step, const float* const& queries) const;

  /// Attention over window, initial and aged tokens and the blocks `chosen` (ascending).
  void attend(LayerStep& step, std::span<const int32_t> chosen);
  /// The same with blocks that are chosen when the window has been attended: `choose` finds the
  /// window's own denominators in lse().
  void attend(LayerStep& step, const std::function<std::vector<int32_t>()>& choose);

  /// Ends the layer: adds the step's attention to the votes of the remainder, lets tokens age, and
  /// calls `aged` for every new block. Layers that need no votes pass null, always.
  void end(LayerStep& step, const std::function<void(const AgedBlock&)>& aged);

  /// x [heads, head_dim], rotated to the constant angle in place.
  void rotate_far(float* x) const;

  size_t most_kv_bytes(const KvLayout& layout, int64_t tokens, int chunk) const;
  void save(ByteWriter& out) const;
  void restore(ByteReader& in);
  /// The store that came with it holds the context, and in memory what may not leave it; the votes
  /// are those of layers for which `has_votes`. Throws UserError.
  void check_restored(const KvStore& store, int64_t tokens,
                      const std::function<bool(int layer)>& has_votes) const;

 private:
  void open_blocks(const LayerStep& step, std::span<const int32_t> chosen);
  void add_far_keys(const LayerStep& step, int head);
  void run(LayerStep& step, int segments_per_head);
  void make_resident(const LayerStep& step, std::span<const int32_t> chosen);
  void add_votes(const LayerStep& step);
  void spill_aged(LayerStep& step, int64_t begin, int64_t end) const;

  BlockOptions o_;
  ModelShape shape_;
  std::vector<std::vector<float>> votes_;  ///< per layer: [remainder tokens, heads]
  std::vector<BlockCache> cached_;         ///< per layer

  RotationBuffer rotation_table_, angle_table_;
  const Rotations* rotations_ = nullptr;
  ContextSplit split_;
  bool retrieves_ = false;
  int64_t near_begin_ = 0, near_position_ = 0;
  Buffer<float> near_q_, far_q_;
  std::vector<float> lse_, sums_, far_out_, far_lse_;
  std::vector<int32_t> far_rows_;  ///< that all rows of the step see, in every list
  std::vector<KeySegment> segments_;
};

/// Passes of at most min(chunk, prompt.chunk) rows, then one of the last `last` rows.
std::vector<Pass> passes_with_last(const PromptFacts& prompt, int64_t chunk, int64_t last);

}  // namespace longhaul
