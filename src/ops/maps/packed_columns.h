#pragma once
// Packs the keys for which one thread computes column sums. They are packed once for all tiles of
// rows. A flat row is the query of one head of one query row. Include this only in *.isa.cc files,
// which are compiled once per instruction set.

#include "ops/attention/flat_rows.h"
#include "ops/maps/column_kernels.h"

namespace longhaul::LH_ISA {

static constexpr TileCounts kColumnCounts = {kTileRows, kColumnBlocks, 1};

/// The packed keys. score() may be called only between Gemm::begin() and Gemm::end().
template <class Gemm>
class PackedColumns {
 public:
  using Scratch = TileScratch<typename Gemm::Element>;

  /// Packs keys [key_begin, key_begin + key_count) of the unit's only segment. key_count is at most
  /// kColumnKeys.
  PackedColumns(const AttendUnit& unit, const Scratch& scratch)
      : dim_(round_up(unit.call->head_dim, 32)), s_(scratch) {
    const int64_t end = unit.key_begin + unit.key_count;
    for (int64_t begin = unit.key_begin; begin < end; begin += kTileKeys) {
      blocks_[count_] = block_from(unit.segments[0], unit.call->rotations, begin, end, dim_);
      pack(blocks_[count_], keys_of(count_), nullptr, s_.unpacked_rows);
      ++count_;
    }
  }

  int count() const { return count_; }
  const KeyBlock& operator[](int b) const { return blocks_[b]; }

  void load_rows(const FlatRows& rows, int f) const {
    const AttendUnit& unit = rows.unit;
    const float* form = unit.call->queries[static_cast<size_t>(unit.segments[0].query)];
    rows.load_queries(form, f, f + kTileRows, dim_, s_.queries);
  }

  /// Returns the scores [kTileRows, kTileKeys] of the keys of block b for the rows that load_rows()
  /// loaded last. f is the first of these flat rows. A score is kLowest if the row does not see the
  /// key.
  const float* score(const FlatRows& rows, int f, int b) const {
    Gemm::run(kTileRows, blocks_[b].padded_keys, dim_, s_.queries, dim_, keys_of(b), kTileKeys,
              s_.scores, kTileKeys, false);
    rows.finish_scores(blocks_[b], f, s_.scores);
    return s_.scores;
  }

 private:
  auto* keys_of(int b) const { return s_.keys + static_cast<int64_t>(b) * kTileKeys * dim_; }

  int dim_, count_ = 0;
  KeyBlock blocks_[kColumnBlocks];
  const Scratch s_;
};

}  // namespace longhaul::LH_ISA
