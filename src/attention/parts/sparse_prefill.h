#pragma once
// Base of the methods that prefill sparsely and keep everything. Keys stand at absolute positions,
// the query heads of each tile of rows see their own selection of keys, and generated tokens see
// all keys.

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
  /// Tile boundaries are multiples of `tile` tokens of the context. Rows before `dense_below`
  /// tokens (rounded up to a tile) see everything.
  explicit SparsePrefill(int tile) : tile_(tile) {}
  void declare_dense_below(OptionList& o) {
    o.integer(dense_below_, "dense_below", 0, 1 << 30, "tokens",
              "rows before this depth see everything");
  }

  /// Writes the keys visible to the tiles of the step's rows, from row `first` on, as a rule for
  /// every query head whose KV head attends. Returns false if all rows see everything.
  virtual bool choose_tiles(LayerStep& step, int first, std::span<TileRule> rules) = 0;

  /// The step's last `most` rows of the attending heads, over all keys: the input of LastRows.
  static std::span<const AttendTask> last_rows(LayerStep& step, int64_t most);

  TileGrid grid(const LayerStep& step) const { return {tile_, step.begin, step.rows}; }
  /// Memory for the visible blocks of query heads [head, +count), [count, tiles, blocks], to be
  /// filled in by an operation. The rules of these heads refer to it.
  View<uint8_t> mark_blocks(const LayerStep& step, int head, int count, std::span<TileRule> rules);
  View<uint8_t> marks() { return marks_.view(); }  ///< marks of all heads

  /// Most bytes of key lists and marked blocks, for passes of `rows` rows.
  size_t tile_bytes(int heads, int64_t tokens, int rows) const;

  /// Empty rules for all query heads, to be filled in for the step.
  std::span<TileRule> new_rules(LayerStep& step);
  /// Attends rows from `first` on by the rules written last.
  void attend_tiles(LayerStep& step, int first);

 private:
  int dense_rows(const LayerStep& step) const;
  /// Attends all rows of the step's heads; the first `dense` rows see everything.
  void attend_heads(LayerStep& step, int dense);

  int tile_;
  int64_t dense_below_ = 4096;
  std::vector<TileRule> rules_;  ///< per query head
  Array<uint8_t> marks_;         ///< [heads, tiles, blocks]
  TileLists tiles_;
};

}  // namespace longhaul
