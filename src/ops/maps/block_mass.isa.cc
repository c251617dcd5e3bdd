// Sums of exponentials by blocks of keys. Scores are computed as in attention, and each row of a
// tile is relative to its own maximum there.

#include "ops/attention/flat_rows.h"
#include "ops/maps/block_mass_kernels.h"

namespace longhaul::LH_ISA {
namespace {

TileCounts counts_of(int flat_rows) { return {round_up(flat_rows, kTileRows), 1, 1}; }

template <class Gemm>
class TileMass {
  using E = typename Gemm::Element;

 public:
  TileMass(const BlockMassUnit& unit, ScratchLayout layout)
      : unit_(unit),
        call_(*unit.rows.call),
        segment_(unit.rows.segments[0]),
        rows_(unit.rows),
        dim_(round_up(call_.head_dim, 32)),
        s_(layout, call_.head_dim, counts_of(rows_.count)) {}

  void run() {
    const float* form = call_.queries[static_cast<size_t>(segment_.query)];
    rows_.load_queries(form, 0, rows_.padded(), dim_, s_.queries);
    Gemm::begin();
    const int64_t first = unit_.rows.key_begin, end = first + unit_.rows.key_count;
    for (int64_t begin = first; begin < end; begin += kTileKeys) {
      tiles(block_from(segment_, call_.rotations, begin, end, dim_), begin - first);
    }
    Gemm::end();
  }

 private:
  /// Processes all tiles of rows against one packed block of keys, `first` keys after the unit's
  /// first.
  void tiles(const KeyBlock& block, int64_t first) {
    bool packed = false;
    for (int f = 0; f < rows_.count; f += kTileRows) {
      if (!rows_.tile_sees(block, f)) continue;
      if (!packed) pack(block, s_.keys, nullptr, s_.unpacked_rows);
      packed = true;
      Gemm::run(kTileRows, block.padded_keys, dim_, s_.queries + static_cast<int64_t>(f) * dim_,
                dim_, s_.keys, kTileKeys, s_.scores, kTileKeys, false);
      sum(block, f, first);
    }
  }

  void sum(const KeyBlock& block, int f, int64_t first) {
    const uint32_t blind = rows_.finish_scores(block, f, s_.scores);
    const int blocks = (block.count + unit_.block - 1) / unit_.block;
    const int rows = rows_.last_of_tile(f) - f + 1;
    for (int r = 0; r < rows; ++r) {
      if ((blind >> r & 1u) != 0) continue;  // the caller's zeros stay
      float* scores = s_.scores + r * kTileKeys;
      const float top = exponentials(scores, block.padded_keys);
      for (int j = block.padded_keys; j < blocks * unit_.block; ++j) scores[j] = 0.0f;
      unit_.tops[(f + r) * unit_.tops_stride + first / kTileKeys] = top;
      float* sums = unit_.sums + (f + r) * unit_.sums_stride + first / unit_.block;
      for (int b = 0; b < blocks; ++b) sums[b] = block_sum(scores + b * unit_.block);
    }
  }

  /// Replaces scores by 2^(score - top) and returns top. `count` is a multiple of 32.
  static float exponentials(float* scores, int count) {
    Vec a = load(scores);
    for (int j = kLanes; j < count; j += kLanes) a = max(a, load(scores + j));
    const float top = reduce_max(a);
    for (int j = 0; j < count; j += kLanes) {
      store(scores + j, exp2_precise(load(scores + j) - splat(top)));
    }
    return top;
  }

  float block_sum(const float* weights) const {
    if (unit_.block < kLanes) {
      float sum = 0.0f;
      for (int j = 0; j < unit_.block; ++j) sum += weights[j];
      return sum;
    }
    Vec sum = load(weights);
    for (int j = kLanes; j < unit_.block; j += kLanes) sum += load(weights + j);
    return reduce_add(sum);
  }

  const BlockMassUnit& unit_;
  const HostCall& call_;
  const KeySegment& segment_;
  const FlatRows rows_;
  int dim_;
  const TileScratch<E> s_;
};

size_t scratch_bytes(const HostCall& call, int flat_rows) {
  return bytes_of<TileScratch<float>>(call.head_dim, counts_of(flat_rows));
}

void run(const BlockMassUnit& unit, std::byte* scratch) {
  run_tiles<TileMass>(*unit.rows.call, unit, scratch);
}

}  // namespace

extern const BlockMassKernels kBlockMassKernels = {scratch_bytes, run};

}  // namespace longhaul::LH_ISA
