// Column sums of probabilities, or the probabilities themselves: the scores of a tile as attention
// computes them, turned into probabilities with the rows' known denominators and added up over the
// rows.

#include "ops/cpu/column_kernels.h"
#include "ops/cpu/flat_rows.h"

namespace longhaul::LH_ISA {
namespace {

template <class E>
struct Scratch {
  E* queries;     // [kTileRows, dim]
  E* keys;        // packed blocks, [kColumnBlocks][dim, kTileKeys]
  E* rows;        // pack_bf16's scratch
  float* scores;  // [kTileRows, kTileKeys]
};

template <class E>
size_t lay_out(const AttendCall& call, std::byte* base, Scratch<E>* s) {
  const size_t dim = static_cast<size_t>(round_up(call.head_dim, 32));
  size_t at = 0;
  const auto take = [&](auto*& pointer, size_t count) {
    using T = std::remove_reference_t<decltype(*pointer)>;
    pointer = reinterpret_cast<T*>(base + at);
    at += (count * sizeof(T) + 63) / 64 * 64;
  };
  take(s->queries, kTileRows * dim);
  take(s->keys, kColumnKeys * dim);
  take(s->rows, 32 * dim);
  take(s->scores, static_cast<size_t>(kTileRows) * kTileKeys);
  return at;
}

template <class Gemm>
class TileColumns {
  using E = typename Gemm::Element;

 public:
  TileColumns(const ColumnUnit& unit, std::byte* scratch)
      : unit_(unit),
        call_(*unit.rows.call),
        segment_(*unit.rows.segments),
        rows_(unit.rows),
        dim_(round_up(call_.head_dim, 32)) {
    lay_out(call_, scratch, &s_);
  }

  void run() {
    pack();
    Gemm::begin();
    for (int f = 0; f < rows_.count; f += kTileRows) tile(f);
    Gemm::end();
  }

 private:
  void pack() {
    for (int64_t begin = 0; begin < unit_.rows.key_count; begin += kTileKeys) {
      const int64_t left = unit_.rows.key_count - begin;
      const int count = left < kTileKeys ? static_cast<int>(left) : kTileKeys;
      const KeyBlock block{&segment_, call_.rotations,     unit_.rows.key_begin + begin,
                           count,     round_up(count, 32), dim_};
      if constexpr (sizeof(E) == 4) {
        pack_f32(block, keys_of(block_count_), nullptr);
      } else {
#if defined(__AVX512BF16__)
        pack_bf16(block, keys_of(block_count_), nullptr, s_.rows);
#endif
      }
      blocks_[block_count_++] = block;
    }
  }

  E* keys_of(int b) const { return s_.keys + static_cast<int64_t>(b) * kTileKeys * dim_; }

  /// Tile of rows at f against all blocks.
  void tile(int f) {
    bool loaded = false;
    for (int b = 0; b < block_count_; ++b) {
      if (!rows_.tile_sees(blocks_[b], f)) continue;
      if (!loaded) load_rows(f);
      loaded = true;
      Gemm::run(kTileRows, blocks_[b].padded_keys, dim_, s_.queries, dim_, keys_of(b), kTileKeys,
                s_.scores, kTileKeys, false);
      rows_.hide_unseen(blocks_[b], f, s_.scores);
      if (unit_.map != nullptr) {
        add_rows(blocks_[b], f, b * kTileKeys);
      } else {
        add(blocks_[b], b * kTileKeys);
      }
    }
  }

  void load_rows(int f) {
    const float* form = call_.queries[static_cast<size_t>(segment_.query)];
    rows_.load_queries(form, f, f + kTileRows, dim_, s_.queries);
    for (int r = 0; r < kTileRows; ++r) {
      const float lse = f + r < rows_.count ? call_.lse[rows_.offset(f + r)] : kLowest;
      // Rows without a denominator, and those that only pad the tile, get weights of zero.
      lse2_[r] = lse > kLowest ? lse * kLog2e : -kLowest;
    }
  }

  /// Adds the tile's probabilities, and their squares, to the sums of keys from `first` on.
  void add(const KeyBlock& block, int first) {
    alignas(64) float sums[kTileKeys], squares[kTileKeys];
    for (int j = 0; j < block.padded_keys; j += kLanes) {
      Vec sum{}, square{};
      for (int r = 0; r < kTileRows; ++r) {
        const Vec p = exp2_precise(load(s_.scores + r * kTileKeys + j) - splat(lse2_[r]));
        sum += p;
        square = fma(p, p, square);
      }
      store(sums + j, sum);
      store(squares + j, square);
    }
    for (int j = 0; j < block.count; ++j) unit_.sums[first + j] += sums[j];
    if (unit_.squares == nullptr) return;
    for (int j = 0; j < block.count; ++j) unit_.squares[first + j] += squares[j];
  }

  /// Adds the tile's probabilities to the map's rows, one head after the other.
  void add_rows(const KeyBlock& block, int f, int first) {
    alignas(64) float row[kTileKeys];
    for (int r = 0; r < kTileRows && f + r < rows_.count; ++r) {
      for (int j = 0; j < block.padded_keys; j += kLanes) {
        store(row + j, exp2_precise(load(s_.scores + r * kTileKeys + j) - splat(lse2_[r])));
      }
      float* to = unit_.map + (f + r) / unit_.rows.head_count * unit_.map_stride + first;
      for (int j = 0; j < block.count; ++j) to[j] += row[j];
    }
  }

  const ColumnUnit& unit_;
  const AttendCall& call_;
  const KeySegment& segment_;
  const FlatRows rows_;
  int dim_, block_count_ = 0;
  KeyBlock blocks_[kColumnBlocks];
  float lse2_[kTileRows];  // log2 of the rows' denominators
  Scratch<E> s_;
};

size_t scratch_bytes(const AttendCall& call) {
  Scratch<float> s;  // the larger of the element types
  return lay_out(call, nullptr, &s);
}

void run(const ColumnUnit& unit, std::byte* scratch) {
  if (unit.rows.call->compute == AttendCompute::kF32) {
    TileColumns<GemmF32>(unit, scratch).run();
  } else {
    TileColumns<BestGemm>(unit, scratch).run();
  }
}

}  // namespace

extern const ColumnKernels kColumnKernels = {scratch_bytes, run};

}  // namespace longhaul::LH_ISA
