#pragma once
// SparsePrefill is the base class of methods that compute only a part of the attention during
// prefill, and keep all keys and values. The query rows of a prompt are divided into tiles of
// adjacent rows. For each tile, each query head selects the keys that the rows of the tile see.
// Generated tokens see all keys. A step (LayerStep) is the work of one layer in one pass. A head
// attends in a step if LayerStep::attends() is true for its KV head.

#include <vector>

#include "attention/registry.h"
#include "ops/choose/tile_lists.h"

namespace longhaul {

class SparsePrefill : public Method {
 public:
  ListPlan plan(int, int, int64_t) const override {
    return {.see = {.tile = tile_, .chosen = true}};
  }
  void attend(LayerStep& step) override;

 protected:
  /// Creates a method with tiles of `tile` tokens, counted from the beginning of the context. The
  /// first `dense_below` tokens of the context, rounded up to whole tiles, see all earlier tokens.
  explicit SparsePrefill(int tile) : tile_(tile) {}
  void declare_dense_below(OptionList& o) {
    o.integer(dense_below_, "dense_below", 0, 1 << 30, "tokens",
              "rows before this depth see everything");
  }

  /// Selects the keys that the step's tiles from row `first` on see. Must set rules[h] for each
  /// query head h that attends. Returns false if all rows see all earlier rows; the rules are then
  /// ignored.
  virtual bool choose_tiles(LayerStep& step, int first, std::span<TileRule> rules) = 0;

  /// Returns attention tasks of the step's last `most` rows over all keys, for the heads that
  /// attend. They are the input of LastRows (ops/maps/last_rows.h).
  static std::span<const AttendTask> last_rows(LayerStep& step, int64_t most);

  TileGrid grid(const LayerStep& step) const { return {tile_, step.begin, step.rows}; }
  /// Returns memory [count, tiles, blocks] for the block marks of query heads [head, head + count),
  /// and makes the rules of these heads refer to it. A block is a group of as many keys as a tile
  /// has rows. The caller must write the marks: nonzero if the tile sees the block.
  View<uint8_t> mark_blocks(const LayerStep& step, int head, int count, std::span<TileRule> rules);
  View<uint8_t> marks() { return marks_.view(); }  ///< returns the block marks of all heads

  /// Returns the largest size in bytes of the tiles' key lists and block marks, for passes of
  /// `rows` rows in a context of `tokens` tokens.
  size_t tile_bytes(int heads, int64_t tokens, int rows) const;

  /// Returns empty rules for all query heads of the step. The caller must set them.
  std::span<TileRule> new_rules(LayerStep& step);
  /// Computes the attention of the rows from `first` on, with the rules that the last new_rules()
  /// returned.
  void attend_tiles(LayerStep& step, int first);

 private:
  /// Returns the number of the step's first rows that see all earlier rows.
  int dense_rows(const LayerStep& step) const;
  /// Computes the attention of all rows for the heads that attend. The first `dense` rows see all
  /// earlier rows.
  void attend_heads(LayerStep& step, int dense);

  int tile_;
  int64_t dense_below_ = 4096;
  std::vector<TileRule> rules_;  ///< per query head
  Array<uint8_t> marks_;         ///< [heads, tiles, blocks]
  TileLists tiles_;
};

}  // namespace longhaul
