// Column and diagonal sums of probabilities: a tile's scores become probabilities with the rows'
// known denominators; laid out with zeros around them, both sums run over rows in registers.

#include "ops/cpu/flat_rows.h"
#include "ops/cpu/line_kernels.h"

namespace longhaul::LH_ISA {
namespace {

constexpr int kMapWidth = kTileRows + kTileKeys + kTileRows;

template <class E>
struct Scratch {
  E* queries;     // [kTileRows, dim]
  E* keys;        // packed blocks, [kColumnBlocks][dim, kTileKeys]
  E* rows;        // pack_bf16's scratch
  float* scores;  // [kTileRows, kTileKeys]
  float* map;     // [kTileRows, kMapWidth], keys from kTileRows on, zeros around them
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
  take(s->map, static_cast<size_t>(kTileRows) * kMapWidth);
  return at;
}

template <class Gemm>
class TileLines {
  using E = typename Gemm::Element;

 public:
  TileLines(const LineUnit& unit, std::byte* scratch)
      : unit_(unit),
        call_(*unit.rows.call),
        segment_(unit.rows.segments[0]),
        dim_(round_up(call_.head_dim, 32)) {
    lay_out(call_, scratch, &s_);
  }

  void run() {
    pack();
    std::memset(s_.map, 0, sizeof(float) * kTileRows * kMapWidth);
    Gemm::begin();
    for (int h = 0; h < unit_.rows.head_count; ++h) {
      AttendUnit one = unit_.rows;
      one.head_begin += h;
      one.head_count = 1;
      head(FlatRows(one), unit_.columns + h * unit_.columns_stride,
           unit_.diagonals + h * line_width(one.row_count));
    }
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

  void head(const FlatRows& rows, float* columns, float* diagonals) {
    const float* form = call_.queries[static_cast<size_t>(segment_.query)];
    for (int f = 0; f < rows.count; f += kTileRows) {
      rows.load_queries(form, f, f + kTileRows, dim_, s_.queries);
      for (int b = 0; b < block_count_; ++b) {
        if (!rows.tile_sees(blocks_[b], f)) continue;
        Gemm::run(kTileRows, blocks_[b].padded_keys, dim_, s_.queries, dim_, keys_of(b), kTileKeys,
                  s_.scores, kTileKeys, false);
        rows.hide_unseen(blocks_[b], f, s_.scores);
        to_probabilities(rows, f, blocks_[b].padded_keys);
        const int first = b * kTileKeys;
        add_columns(blocks_[b].count, columns + first);
        add_diagonals(diagonals + first + rows.count - 1 - f);
      }
    }
  }

  /// Scores to the map; rows that only pad the tile and those without a denominator are zeros.
  void to_probabilities(const FlatRows& rows, int f, int count) {
    for (int r = 0; r < kTileRows; ++r) {
      const float lse = f + r < rows.count ? call_.lse[rows.offset(f + r)] : kLowest;
      const Vec lse2 = splat(lse > kLowest ? lse * kLog2e : -kLowest);
      const float* scores = s_.scores + r * kTileKeys;
      float* map = s_.map + r * kMapWidth + kTileRows;
      for (int j = 0; j < count; j += kLanes) {
        store(map + j, exp2_precise(load(scores + j) - lse2));
      }
      for (int j = count; j < kTileKeys; j += kLanes) store(map + j, Vec{});
    }
  }

  void add_columns(int count, float* columns) const {
    for (int j = 0; j < count; j += kLanes) {
      const Vec sum = over_rows(s_.map + kTileRows + j, kMapWidth);
      if (j + kLanes <= count) {
        store(columns + j, load(columns + j) + sum);
      } else {
        float lanes[kLanes];
        store(lanes, sum);
        for (int i = 0; j + i < count; ++i) columns[j + i] += lanes[i];
      }
    }
  }

  /// Entry e of `diagonals` is key e - (kTileRows - 1) of row 0, one key further in every next row.
  void add_diagonals(float* diagonals) const {
    for (int e = 0; e < kTileRows + kTileKeys; e += kLanes) {
      const Vec sum = over_rows(s_.map + 1 + e, kMapWidth + 1);
      store(diagonals + e, load(diagonals + e) + sum);
    }
  }

  static Vec over_rows(const float* x, int stride) {
    Vec even = load(x), odd = load(x + stride);
    for (int r = 2; r < kTileRows; r += 2) {
      even += load(x + r * stride);
      odd += load(x + (r + 1) * stride);
    }
    return even + odd;
  }

  const LineUnit& unit_;
  const AttendCall& call_;
  const KeySegment& segment_;
  int dim_, block_count_ = 0;
  KeyBlock blocks_[kColumnBlocks];
  Scratch<E> s_;
};

size_t scratch_bytes(const AttendCall& call) {
  Scratch<float> s;  // the larger of the element types
  return lay_out(call, nullptr, &s);
}

void run(const LineUnit& unit, std::byte* scratch) {
  if (unit.rows.call->compute == AttendCompute::kF32) {
    TileLines<GemmF32>(unit, scratch).run();
  } else {
    TileLines<BestGemm>(unit, scratch).run();
  }
}

}  // namespace

extern const LineKernels kLineKernels = {scratch_bytes, run};

}  // namespace longhaul::LH_ISA
