// Sums of exponentials by blocks of keys: scores as attention computes them, each row of a tile
// relative to its own maximum there.

#include "ops/cpu/block_mass_kernels.h"
#include "ops/cpu/flat_rows.h"

namespace longhaul::LH_ISA {
namespace {

template <class E>
struct Scratch {
  E* queries;     // [rows, dim]
  E* keys;        // packed block
  E* rows;        // pack_bf16's scratch
  float* scores;  // [kTileRows, kTileKeys]
};

template <class E>
size_t lay_out(const AttendCall& call, int flat_rows, std::byte* base, Scratch<E>* s) {
  const size_t dim = static_cast<size_t>(round_up(call.head_dim, 32));
  size_t at = 0;
  const auto take = [&](auto*& pointer, size_t count) {
    using T = std::remove_reference_t<decltype(*pointer)>;
    pointer = reinterpret_cast<T*>(base + at);
    at += (count * sizeof(T) + 63) / 64 * 64;
  };
  take(s->queries, static_cast<size_t>(round_up(flat_rows, kTileRows)) * dim);
  take(s->keys, kTileKeys * dim);
  take(s->rows, 32 * dim);
  take(s->scores, static_cast<size_t>(kTileRows) * kTileKeys);
  return at;
}

template <class Gemm>
class TileMass {
  using E = typename Gemm::Element;

 public:
  TileMass(const BlockMassUnit& unit, std::byte* scratch)
      : unit_(unit),
        call_(*unit.rows.call),
        segment_(unit.rows.segments[0]),
        rows_(unit.rows),
        dim_(round_up(call_.head_dim, 32)) {
    lay_out(call_, rows_.count, scratch, &s_);
  }

  void run() {
    const float* form = call_.queries[static_cast<size_t>(segment_.query)];
    rows_.load_queries(form, 0, rows_.padded(), dim_, s_.queries);
    Gemm::begin();
    for (int64_t begin = 0; begin < unit_.rows.key_count; begin += kTileKeys) {
      const int64_t left = unit_.rows.key_count - begin;
      const int count = left < kTileKeys ? static_cast<int>(left) : kTileKeys;
      const KeyBlock block{&segment_, call_.rotations,     unit_.rows.key_begin + begin,
                           count,     round_up(count, 32), dim_};
      tiles(block, begin);
    }
    Gemm::end();
  }

 private:
  /// All tiles of rows against one packed block of keys, `first` keys after the unit's first.
  void tiles(const KeyBlock& block, int64_t first) {
    bool packed = false;
    for (int f = 0; f < rows_.count; f += kTileRows) {
      if (!rows_.tile_sees(block, f)) continue;
      if (!packed) pack(block);
      packed = true;
      Gemm::run(kTileRows, block.padded_keys, dim_, s_.queries + static_cast<int64_t>(f) * dim_,
                dim_, s_.keys, kTileKeys, s_.scores, kTileKeys, false);
      sum(block, f, first);
    }
  }

  void pack(const KeyBlock& block) {
    if constexpr (sizeof(E) == 4) {
      pack_f32(block, s_.keys, nullptr);
    } else {
#if defined(__AVX512BF16__)
      pack_bf16(block, s_.keys, nullptr, s_.rows);
#endif
    }
  }

  void sum(const KeyBlock& block, int f, int64_t first) {
    const uint32_t blind = rows_.hide_unseen(block, f, s_.scores);
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

  /// Scores become 2^(score - top); returns top. `count` is a multiple of 32.
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
  const AttendCall& call_;
  const KeySegment& segment_;
  const FlatRows rows_;
  int dim_;
  Scratch<E> s_;
};

size_t scratch_bytes(const AttendCall& call, int flat_rows) {
  Scratch<float> s;  // the larger of the element types
  return lay_out(call, flat_rows, nullptr, &s);
}

void run(const BlockMassUnit& unit, std::byte* scratch) {
  if (unit.rows.call->compute == AttendCompute::kF32) {
    TileMass<GemmF32>(unit, scratch).run();
  } else {
    TileMass<BestGemm>(unit, scratch).run();
  }
}

}  // namespace

extern const BlockMassKernels kBlockMassKernels = {scratch_bytes, run};

}  // namespace longhaul::LH_ISA
