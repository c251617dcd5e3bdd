// Column sums of probabilities, or the probabilities themselves. A tile's scores are computed as in
// attention, turned into probabilities with the rows' known denominators, and summed over the rows.

#include "ops/maps/column_kernels.h"
#include "ops/maps/packed_columns.h"

namespace longhaul::LH_ISA {
namespace {

template <class Gemm>
class TileColumns {
 public:
  TileColumns(const ColumnUnit& unit, ScratchLayout layout)
      : unit_(unit),
        rows_(unit.rows),
        columns_(unit.rows, {layout, unit.rows.call->head_dim, kColumnCounts}) {}

  void run() {
    if (unit_.squares != nullptr) std::memset(row_sums_, 0, sizeof(row_sums_));
    Gemm::begin();
    for (int f = 0; f < rows_.count; f += kTileRows) tile(f);
    Gemm::end();
  }

 private:
  /// Processes the tile of rows at f against all blocks.
  void tile(int f) {
    bool loaded = false;
    for (int b = 0; b < columns_.count(); ++b) {
      if (!rows_.tile_sees(columns_[b], f)) continue;
      if (!loaded) load_rows(f);
      loaded = true;
      const float* scores = columns_.score(rows_, f, b);
      if (unit_.map != nullptr) {
        add_rows(columns_[b], scores, f, b * kTileKeys);
      } else if (unit_.squares != nullptr) {
        add_columns_and_squares(columns_[b], scores, f, b * kTileKeys);
      } else {
        add_columns(columns_[b], scores, b * kTileKeys);
      }
    }
  }

  void load_rows(int f) {
    columns_.load_rows(rows_, f);
    for (int r = 0; r < kTileRows; ++r) denominators_[r] = rows_.log2_denominator(f + r);
  }

  Vec probabilities(const float* scores, int r, int j) const {
    return exp2_precise(load(scores + r * kTileKeys + j) - splat(denominators_[r]));
  }

  /// Adds the tile's probabilities to the sums of keys from `first` on.
  void add_columns(const KeyBlock& block, const float* scores, int first) {
    alignas(64) float sums[kTileKeys];
    for (int j = 0; j < block.padded_keys; j += kLanes) {
      Vec sum{};
      for (int r = 0; r < kTileRows; ++r) sum += probabilities(scores, r, j);
      store(sums + j, sum);
    }
    for (int j = 0; j < block.count; ++j) unit_.sums[first + j] += sums[j];
  }

  /// Also adds the squares of the probability that each row of the text gives to the keys, summed
  /// over all heads. The heads of a row may lie in several tiles; partial sums are kept in
  /// row_sums_.
  void add_columns_and_squares(const KeyBlock& block, const float* scores, int f, int first) {
    // heads_left counts those of the first row
    const int heads = unit_.rows.head_count, heads_left = heads - f % heads;
    alignas(64) float sums[kTileKeys], squares[kTileKeys];
    for (int j = 0; j < block.padded_keys; j += kLanes) {
      Vec sum{}, square{}, row_sum = load(row_sums_ + first + j);
      for (int r = 0, left = heads_left; r < kTileRows; ++r) {
        const Vec p = probabilities(scores, r, j);
        sum += p;
        row_sum += p;
        if (--left > 0) continue;
        left = heads;
        square = fma(row_sum, row_sum, square);
        row_sum = Vec{};
      }
      store(row_sums_ + first + j, row_sum);
      store(sums + j, sum);
      store(squares + j, square);
    }
    for (int j = 0; j < block.count; ++j) {
      unit_.sums[first + j] += sums[j];
      unit_.squares[first + j] += squares[j];
    }
  }

  /// Adds the tile's probabilities to the map's rows, one head after the other.
  void add_rows(const KeyBlock& block, const float* scores, int f, int first) {
    alignas(64) float row[kTileKeys];
    for (int r = 0; r < kTileRows && f + r < rows_.count; ++r) {
      for (int j = 0; j < block.padded_keys; j += kLanes) {
        store(row + j, probabilities(scores, r, j));
      }
      float* to = unit_.map + (f + r) / unit_.rows.head_count * unit_.map_stride + first;
      for (int j = 0; j < block.count; ++j) to[j] += row[j];
    }
  }

  const ColumnUnit& unit_;
  const FlatRows rows_;
  const PackedColumns<Gemm> columns_;
  float denominators_[kTileRows];            // log2
  alignas(64) float row_sums_[kColumnKeys];  // for the row whose last heads are in a later tile
};

size_t scratch_bytes(const HostCall& call) {
  // float is the larger element type
  return bytes_of<TileScratch<float>>(call.head_dim, kColumnCounts);
}

void run(const ColumnUnit& unit, std::byte* scratch) {
  run_tiles<TileColumns>(*unit.rows.call, unit, scratch);
}

}  // namespace

extern const ColumnKernels kColumnKernels = {scratch_bytes, run};

}  // namespace longhaul::LH_ISA
