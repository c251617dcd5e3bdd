// Prefill attention: keys are packed block by block. Each block is multiplied with 32 rows at a
// time, and its softmax is accumulated into running sums. It uses flash attention's recurrence (m,
// l, o) in base 2, with o rescaled only when a row's maximum has grown.

#include "ops/attention/attend_kernels.h"
#include "ops/attention/flat_rows.h"

namespace longhaul::LH_ISA {
namespace {

template <class E>
struct Scratch : TileScratch<E> {  // queries: [query forms, rows, dim]
  E* values;                       // packed block
  E* weights;                      // [kTileRows, kTileKeys]
  float* out;                      // [rows, dim]
  float* max;                      // [rows]
  float* sum;                      // [rows, kLanes], summed across lanes at the end

  /// `rows` is padded to whole tiles.
  Scratch(ScratchLayout& layout, const HostCall& call, int rows)
      : TileScratch<E>(layout, call.head_dim,
                       {static_cast<int>(call.queries.size()) * rows, 1, 2}) {
    const size_t dim = static_cast<size_t>(round_up(call.head_dim, 32));
    const size_t count = static_cast<size_t>(rows);
    layout.take(values, kTileKeys * dim);
    layout.take(weights, static_cast<size_t>(kTileRows) * kTileKeys);
    layout.take(out, count * dim);
    layout.take(max, count);
    layout.take(sum, count * kLanes);
  }
};

/// weights[j] = 2^(scores[j] - top) for `count` keys (a multiple of 32); adds the weights to `sum`
/// per lane.
inline Vec weights_of(const float* scores, int count, float top, Vec sum, float* weights) {
  for (int j = 0; j < count; j += kLanes) {
    const Vec w = exp2_precise(load(scores + j) - splat(top));
    sum += w;
    store(weights + j, w);
  }
  return sum;
}

#if defined(__AVX512BF16__)
inline Vec weights_of(const float* scores, int count, float top, Vec sum, uint16_t* weights) {
  for (int j = 0; j < count; j += 32) {
    const Vec a = exp2_for_bf16(load(scores + j) - splat(top));
    const Vec b = exp2_for_bf16(load(scores + j + 16) - splat(top));
    sum += a + b;
    const __m512bh pair = _mm512_cvtne2ps_pbh((__m512)b, (__m512)a);
    std::memcpy(weights + j, &pair, 64);
  }
  return sum;
}
#endif

template <class Gemm>
class TileAttention {
  using E = typename Gemm::Element;

 public:
  TileAttention(const AttendUnit& unit, ScratchLayout layout)
      : unit_(unit),
        call_(*unit.call),
        rows_(unit),
        dim_(round_up(call_.head_dim, 32)),
        flat_rows_(rows_.count),
        padded_rows_(rows_.padded()),
        s_(layout, call_, padded_rows_) {}

  void run() {
    load_queries();
    begin_softmax();
    std::memset(s_.out, 0, sizeof(float) * static_cast<size_t>(padded_rows_) * dim_);
    Gemm::begin();
    for (int i = 0; i < unit_.segment_count; ++i) segment(unit_.segments[i]);
    Gemm::end();
    write_out();
  }

 private:
  void load_queries() {
    E* out = s_.queries;
    for (const float* form : call_.queries) {
      rows_.load_queries(form, 0, padded_rows_, dim_, out);
      out += static_cast<int64_t>(padded_rows_) * dim_;
    }
  }

  /// Initialises the sums to zero, or to the heads' sinks.
  void begin_softmax() {
    for (int i = 0; i < padded_rows_; ++i) s_.max[i] = kLowest;
    std::memset(s_.sum, 0, sizeof(float) * static_cast<size_t>(padded_rows_) * kLanes);
    for (int f = 0; f < flat_rows_ && call_.sinks != nullptr; ++f) {
      s_.max[f] = call_.sinks[rows_.head(f)] * kLog2e;
      s_.sum[f * kLanes] = 1.0f;
    }
  }

  void segment(const KeySegment& s) {
    // Visibility is monotonic in a row's position, so the first and last rows bound the unit.
    const KeyRange first = visible_keys(s, rows_.position(0));
    const KeyRange last = visible_keys(s, rows_.position(flat_rows_ - 1));
    // Blocks begin at multiples of kTileKeys, independent of the unit's first row. The result of a
    // row therefore depends neither on the other rows of its unit nor on the number of threads.
    const int64_t from = first.begin / kTileKeys * kTileKeys;
    for (int64_t begin = from; begin < last.end; begin += kTileKeys) {
      const KeyBlock block = block_from(s, call_.rotations, begin, last.end, dim_);
      pack(block, s_.keys, s_.values, s_.unpacked_rows);
      tiles(block);
    }
  }

  /// Processes all tiles of rows against one block. The scores of the next tile are started before
  /// the softmax of the present one, so that the matrix unit and the vector units overlap.
  void tiles(const KeyBlock& block) {
    int f = next_tile(block, 0), buffer = 0;
    if (f < flat_rows_) score(block, f, buffer);
    while (f < flat_rows_) {
      const int next = next_tile(block, f + kTileRows);
      if (next < flat_rows_) score(block, next, 1 - buffer);
      softmax(block, f, s_.scores + buffer * kTileRows * kTileKeys);
      Gemm::run(kTileRows, dim_, block.padded_keys, s_.weights, kTileKeys, s_.values, dim_,
                s_.out + static_cast<int64_t>(f) * dim_, dim_, true);
      f = next;
      buffer = 1 - buffer;
    }
  }

  /// The first tile from row f on that sees any key of the block.
  int next_tile(const KeyBlock& block, int f) const {
    for (; f < flat_rows_; f += kTileRows) {
      if (rows_.tile_sees(block, f)) return f;
    }
    return f;
  }

  void score(const KeyBlock& block, int f, int buffer) {
    const E* queries =
        s_.queries + (static_cast<int64_t>(block.segment->query) * padded_rows_ + f) * dim_;
    Gemm::run(kTileRows, block.padded_keys, dim_, queries, dim_, s_.keys, kTileKeys,
              s_.scores + buffer * kTileRows * kTileKeys, kTileKeys, false);
  }

  /// Turns a tile's scores into weights and accumulates them into the rows' running maxima and
  /// sums.
  void softmax(const KeyBlock& block, int f, float* scores) {
    const uint32_t blind = rows_.finish_scores(block, f, scores);
    const int padded = block.padded_keys;
    for (int r = 0; r < kTileRows; ++r) {
      E* weights = s_.weights + r * kTileKeys;
      if ((blind >> r & 1u) != 0) {
        std::memset(weights, 0, sizeof(E) * static_cast<size_t>(padded));
        continue;
      }
      const float top = reduce_max(lane_max(scores + r * kTileKeys, padded));
      if (top > s_.max[f + r]) raise_max(f + r, top);
      float* sum = s_.sum + (f + r) * kLanes;
      store(sum, weights_of(scores + r * kTileKeys, padded, s_.max[f + r], load(sum), weights));
    }
  }

  /// Raises a row's maximum and scales its sum and output down accordingly.
  void raise_max(int f, float top) {
    const Vec shrink = splat(first_lane(exp2_precise(splat(s_.max[f] - top))));
    s_.max[f] = top;
    float* sum = s_.sum + f * kLanes;
    store(sum, load(sum) * shrink);
    float* out = s_.out + static_cast<int64_t>(f) * dim_;
    for (int t = 0; t < dim_; t += kLanes) store(out + t, load(out + t) * shrink);
  }

  void write_out() {
    for (int f = 0; f < flat_rows_; ++f) {
      float* out = call_.out + rows_.offset(f) * call_.head_dim;
      const float* from = s_.out + static_cast<int64_t>(f) * dim_;
      const float sum = reduce_add(load(s_.sum + f * kLanes));
      const float inverse = sum > 0 ? 1.0f / sum : 0.0f;
      for (int t = 0; t < call_.head_dim; ++t) out[t] = from[t] * inverse;
      if (call_.lse != nullptr) {
        call_.lse[rows_.offset(f)] =
            sum > 0 ? s_.max[f] / kLog2e + __builtin_logf(sum) : -__builtin_inff();
      }
    }
  }

  const AttendUnit& unit_;
  const HostCall& call_;
  const FlatRows rows_;
  int dim_, flat_rows_, padded_rows_;
  const Scratch<E> s_;
};

}  // namespace

size_t tile_scratch_bytes(const HostCall& call, int flat_rows) {
  return bytes_of<Scratch<float>>(call, round_up(flat_rows, kTileRows));
}

void attend_tile(const AttendUnit& unit, std::byte* scratch) {
  run_tiles<TileAttention>(*unit.call, unit, scratch);
}

}  // namespace longhaul::LH_ISA
