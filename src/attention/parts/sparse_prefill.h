#pragma once
// What the methods share that read a prompt sparsely and keep everything: keys stand at their
// positions in the text, the query heads of a tile of rows each see keys of their own, and
// generated tokens see all.

#include <vector>

#include "attention/registry.h"
#include "ops/tile_lists.h"

namespace longhaul {

class SparsePrefill : public Method {
 public:
  Plan plan(int, int, int64_t) const override { return {.see = {.tile = tile_, .chosen = true}}; }
  void attend(LayerStep& step) override;

 protected:
  /// Tiles are cut at multiples of `tile` tokens of the context. Rows before `dense_below` tokens
  /// (rounded up to a tile) see everything.
  explicit SparsePrefill(int tile) : tile_(tile) {}
  void declare_dense_below(OptionList& o) {
    o.integer(dense_below_, "dense_below", 0, 1 << 30, "tokens",
              "rows before this depth see everything");
  }

  /// Looks at the step and writes what the tiles of its rows from `first` on see: the rule of every
  /// query head whose KV head attends. False: all rows see everything.
  virtual bool choose_tiles(LayerStep& step, int first, std::span<TileRule> rules) = 0;

  /// The step's last `most` rows, of the heads that attend, over all keys: what LastRows looks at.
  static std::span<const AttendTask> last_rows(LayerStep& step, int64_t most);

  TileGrid grid(const LayerStep& step) const { return {tile_, step.begin, step.rows}; }
  /// Room for the blocks that query heads [head, +count) see, [count, tiles, blocks], for an
  /// operation to fill in. Their rules name it.
  View<uint8_t> mark_blocks(const LayerStep& step, int head, int count, std::span<TileRule> rules);
  View<uint8_t> marks() { return marks_.view(); }  ///< of all heads

  /// What key lists and marked blocks take at most, in passes of `rows` rows.
  size_t tile_bytes(int heads, int64_t tokens, int rows) const;

  /// No rule of any query head, to be written for the step.
  std::span<TileRule> new_rules(LayerStep& step);
  /// Attends rows from `first` on by the rules that were written last.
  void attend_tiles(LayerStep& step, int first);

 private:
  int dense_rows(const LayerStep& step) const;
  /// Attention of all rows for the heads that the step is of; the first `dense` rows see
  /// everything.
  void attend_heads(LayerStep& step, int dense);

  int tile_;
  int64_t dense_below_ = 4096;
  std::vector<TileRule> rules_;  ///< per query head
  Array<uint8_t> marks_;         ///< [heads, tiles, blocks]
  TileLists tiles_;
};

}  // namespace longhaul
