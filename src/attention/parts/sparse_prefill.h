#pragma once
// Base class of methods that compute only a part of the attention during prefill, and keep all
// rows. Keys are at absolute positions. Prompt rows are divided into tiles of adjacent rows, and
// each query head selects the keys for each tile. Generated tokens see all keys. A head attends if
// LayerStep::attends() is true for its KV head.

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
  /// Creates a method whose tiles begin at multiples of `tile` tokens of the context. Rows before
  /// `dense_below` tokens (rounded up to a tile) see all earlier rows.
  explicit SparsePrefill(int tile) : tile_(tile) {}
  void declare_dense_below(OptionList& o) {
    o.integer(dense_below_, "dense_below", 0, 1 << 30, "tokens",
              "rows before this depth see everything");
  }

  /// Selects the keys that the tiles of the step's rows see, from row `first` on. Writes one rule
  /// for each query head whose KV head attends (LayerStep::attends). Returns false if all rows see
  /// all earlier rows.
  virtual bool choose_tiles(LayerStep& step, int first, std::span<TileRule> rules) = 0;

  /// Returns the tasks of the step's last `most` rows over all keys, for the attending heads. They
  /// are the input of LastRows.
  static std::span<const AttendTask> last_rows(LayerStep& step, int64_t most);

  TileGrid grid(const LayerStep& step) const { return {tile_, step.begin, step.rows}; }
  /// Returns memory [count, tiles, blocks] for the block marks of query heads [head, head + count).
  /// An operation then writes the marks. Sets the rules of these heads so that they refer to this
  /// memory.
  View<uint8_t> mark_blocks(const LayerStep& step, int head, int count, std::span<TileRule> rules);
  View<uint8_t> marks() { return marks_.view(); }  ///< returns the block marks of all heads

  /// Returns the largest size in bytes of key lists and block marks, for passes of `rows` rows.
  size_t tile_bytes(int heads, int64_t tokens, int rows) const;

  /// Returns empty rules for all query heads, which the caller fills in for the step.
  std::span<TileRule> new_rules(LayerStep& step);
  /// Computes the attention of the rows from `first` on by the rules of the last new_rules() call.
  void attend_tiles(LayerStep& step, int first);

 private:
  /// Returns the number of the step's first rows that see all earlier rows.
  int dense_rows(const LayerStep& step) const;
  /// Computes the attention of all rows of the attending heads. The first `dense` rows see all
  /// earlier rows.
  void attend_heads(LayerStep& step, int dense);

  int tile_;
  int64_t dense_below_ = 4096;
  std::vector<TileRule> rules_;  ///< per query head
  Array<uint8_t> marks_;         ///< [heads, tiles, blocks]
  TileLists tiles_;
};

}  // namespace longhaul
