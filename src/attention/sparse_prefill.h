#pragma once
// What the methods share that read a prompt sparsely and keep everything: keys stand
// at their absolute positions, every query head of a tile of rows sees its own list of keys, and
// generated tokens see all.

#include <vector>

#include "attention/method.h"
#include "ops/tile_keys.h"

namespace longhaul {

class SparsePrefill : public AttentionMethod {
 public:
  /// Passes end where tiles of `tile` tokens do, as far as the cap on a pass allows.
  std::vector<Pass> prepare(const PromptFacts& prompt) override;
  void attend(LayerStep& step) override;
  /// Looking at the last rows of a pass costs the same whatever its length.
  int preferred_chunk() const override { return 4096; }

 protected:
  /// Tiles are cut at multiples of `tile` tokens of the context. Rows before `dense_below` tokens
  /// (rounded up to a tile) see everything.
  SparsePrefill(int tile, int64_t dense_below) : tile_(tile), dense_below_(dense_below) {}

  /// Keys have been appended; looks at the step before its tiles choose. False: all of it is dense.
  virtual bool estimate(LayerStep& step) = 0;
  /// The keys of a tile, cleared before. Called from several threads.
  virtual void choose(const LayerStep& step, const RowTile& tile, TileKeys& keys) const = 0;

  int tile() const { return tile_; }
  /// The end of the tile of the grid in which a row stands.
  int64_t tile_end(int64_t position) const { return (position / tile_ + 1) * tile_; }

  void attend_dense(LayerStep& step, int rows);
  /// Rows from `first` on, by choose().
  void attend_tiles(LayerStep& step, int first);

  /// Averages the keys of the context so far by tiles of the grid.
  void average_keys(const LayerStep& step);
  /// [tiles, head_dim] of a KV head; the last tile may have fewer keys.
  const float* means(int kv_head) const { return means_[static_cast<size_t>(kv_head)].data(); }

 private:
  int dense_rows(const LayerStep& step) const;
  std::vector<RowTile> tiles_of(const LayerStep& step, int begin, int end) const;

  int tile_;
  int64_t dense_below_;
  std::vector<KeySegment> segments_;
  std::vector<AttendTask> tasks_;
  std::vector<TileKeys> keys_;
  std::vector<std::vector<float>> means_;  // [kv_heads][tiles, head_dim]
};

/// How much attention the last rows of a step, at most `most`, pay to every key and distance,
/// summed over them.
class LastRows {
 public:
  /// `queries` [rows, heads, head_dim] of the step, rotated.
  void look(const LayerStep& step, std::span<const float* const> queries, int most);

  /// What a look at so many keys takes.
  static size_t bytes_for(const ModelShape& shape, int64_t keys) {
    return static_cast<size_t>(2 * shape.heads * keys) * sizeof(float);
  }

  int rows() const { return rows_; }
  /// [keys] of a query head.
  std::span<const float> columns(int head) const { return part(columns_, head); }
  /// [keys]: by distance between row and key.
  std::span<const float> diagonals(int head) const { return part(diagonals_, head); }

 private:
  std::span<const float> part(const std::vector<float>& lines, int head) const {
    return std::span(lines).subspan(static_cast<size_t>(head * keys_), static_cast<size_t>(keys_));
  }
  int rows_ = 0;
  int64_t keys_ = 0;
  std::vector<float> columns_, diagonals_;  // [heads, keys]
  std::vector<float> lse_;                  // [rows, heads]
};

}  // namespace longhaul
