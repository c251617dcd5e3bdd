// Column and diagonal sums of probabilities. A tile's scores become probabilities with the rows'
// known denominators. They are stored with zeros around them, so that both kinds of sums can run
// over rows in registers.

#include "ops/maps/line_kernels.h"
#include "ops/maps/packed_columns.h"

namespace longhaul::LH_ISA {
namespace {

constexpr int kMapWidth = kTileRows + kTileKeys + kTileRows;

template <class E>
struct Scratch : TileScratch<E> {
  float* map;  // [kTileRows, kMapWidth], keys begin at column kTileRows, with zeros around them

  Scratch(ScratchLayout& layout, int head_dim) : TileScratch<E>(layout, head_dim, kColumnCounts) {
    layout.take(map, static_cast<size_t>(kTileRows) * kMapWidth);
  }
};

template <class Gemm>
class TileLines {
 public:
  TileLines(const LineUnit& unit, ScratchLayout layout)
      : unit_(unit), s_(layout, unit.rows.call->head_dim), blocks_(unit.rows, s_) {}

  void run() {
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
  void head(const FlatRows& rows, float* columns, float* diagonals) {
    for (int f = 0; f < rows.count; f += kTileRows) {
      blocks_.load_rows(rows, f);
      for (int b = 0; b < blocks_.count(); ++b) {
        if (!rows.tile_sees(blocks_[b], f)) continue;
        to_probabilities(blocks_.score(rows, f, b), rows, f, blocks_[b].padded_keys);
        const int first = b * kTileKeys;
        add_columns(blocks_[b].count, columns + first);
        add_diagonals(diagonals + first + rows.count - 1 - f);
      }
    }
  }

  void to_probabilities(const float* scores, const FlatRows& rows, int f, int count) {
    for (int r = 0; r < kTileRows; ++r, scores += kTileKeys) {
      const Vec denominator = splat(rows.log2_denominator(f + r));
      float* map = s_.map + r * kMapWidth + kTileRows;
      for (int j = 0; j < count; j += kLanes) {
        store(map + j, exp2_precise(load(scores + j) - denominator));
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

  /// Entry e of `diagonals` is key e - (kTileRows - 1) of row 0, and one key further in each
  /// following row.
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
  const Scratch<typename Gemm::Element> s_;
  const PackedColumns<Gemm> blocks_;
};

size_t scratch_bytes(const HostCall& call) {
  return bytes_of<Scratch<float>>(call.head_dim);  // float is the larger element type
}

void run(const LineUnit& unit, std::byte* scratch) {
  run_tiles<TileLines>(*unit.rows.call, unit, scratch);
}

}  // namespace

extern const LineKernels kLineKernels = {scratch_bytes, run};

}  // namespace longhaul::LH_ISA
