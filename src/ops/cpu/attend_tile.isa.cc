// Attention of many rows (prefill): keys are packed block by block; each block is multiplied with
// 32 rows at a time, its softmax folded into running sums. Flash attention's recurrence
// (m, l, o) in base 2, with o rescaled only when a row's maximum has grown.

#include "ops/cpu/pack_block.h"
#include "ops/cpu/tile_gemm.h"

namespace longhaul::LH_ISA {
namespace {

constexpr float kLowest = -1e30f;  // finite: a difference of two must not be NaN
constexpr float kLog2e = 1.44269504f;

inline int round_up(int n, int to) { return (n + to - 1) / to * to; }

template <class E>
struct Scratch {
  E* queries;     // [query forms, rows, dim]
  E* keys;        // packed block
  E* values;      // packed block
  E* weights;     // [kTileRows, kTileKeys]
  float* scores;  // [kTileRows, kTileKeys]
  float* out;     // [rows, dim]
  float* max;     // [rows]
  float* sum;     // [rows]
  E* rows;        // pack_bf16's scratch
};

template <class E>
size_t lay_out(const AttendCall& call, int flat_rows, std::byte* base, Scratch<E>* s) {
  const size_t dim = static_cast<size_t>(round_up(call.head_dim, 32));
  const size_t rows = static_cast<size_t>(round_up(flat_rows, kTileRows));
  size_t at = 0;
  const auto take = [&](auto*& pointer, size_t count) {
    using T = std::remove_reference_t<decltype(*pointer)>;
    pointer = reinterpret_cast<T*>(base + at);
    at += (count * sizeof(T) + 63) / 64 * 64;
  };
  take(s->queries, call.queries.size() * rows * dim);
  take(s->keys, kTileKeys * dim);
  take(s->values, kTileKeys * dim);
  take(s->weights, static_cast<size_t>(kTileRows) * kTileKeys);
  take(s->scores, static_cast<size_t>(kTileRows) * kTileKeys);
  take(s->out, rows * dim);
  take(s->max, rows);
  take(s->sum, rows);
  take(s->rows, 32 * dim);
  return at;
}

inline void convert_row(const float* x, int n, int padded, float factor, float* out) {
  for (int t = 0; t < n; ++t) out[t] = x[t] * factor;
  for (int t = n; t < padded; ++t) out[t] = 0.0f;
}

inline void convert_row(const float* x, int n, int padded, float factor, uint16_t* out) {
  for (int t = 0; t < padded; t += kLanes) {
    float lanes[kLanes] = {};
    for (int i = 0; i < kLanes && t + i < n; ++i) lanes[i] = x[t + i] * factor;
    store_bf16(out + t, load(lanes));
  }
}

/// Weights of one row for keys [lo, hi) of a block; zeros elsewhere in [0, padded). Returns their
/// sum.
inline float weights_of(const float* scores, int lo, int hi, int padded, float max, float* out) {
  Vec total{};
  for (int j = 0; j < padded; j += kLanes) {
    Vec w = exp2_precise(load(scores + j) - splat(max));
    store(out + j, w);
    if (j < lo || j + kLanes > hi) {
      for (int i = 0; i < kLanes; ++i) out[j + i] = j + i >= lo && j + i < hi ? out[j + i] : 0.0f;
      w = load(out + j);
    }
    total += w;
  }
  return reduce_add(total);
}

inline float weights_of(const float* scores, int lo, int hi, int padded, float max, uint16_t* out) {
  Vec total{};
#if defined(__AVX512BF16__)
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (int j = 0; j < padded; j += 32) {
    Vec a = exp2_for_bf16(load(scores + j) - splat(max));
    Vec b = exp2_for_bf16(load(scores + j + 16) - splat(max));
    if (j < lo || j + 32 > hi) {
      const __m512i at = _mm512_add_epi32(lanes, _mm512_set1_epi32(j));
      const __m512i next = _mm512_add_epi32(at, _mm512_set1_epi32(16));
      const __m512i low = _mm512_set1_epi32(lo), high = _mm512_set1_epi32(hi);
      a = (Vec)_mm512_maskz_mov_ps(
          _mm512_cmpge_epi32_mask(at, low) & _mm512_cmplt_epi32_mask(at, high), (__m512)a);
      b = (Vec)_mm512_maskz_mov_ps(
          _mm512_cmpge_epi32_mask(next, low) & _mm512_cmplt_epi32_mask(next, high), (__m512)b);
    }
    total += a;
    total += b;
    const __m512bh pair = _mm512_cvtne2ps_pbh((__m512)b, (__m512)a);
    std::memcpy(out + j, &pair, 64);
  }
#else
  (void)scores, (void)lo, (void)hi, (void)padded, (void)max, (void)out;
#endif
  return reduce_add(total);
}

/// Largest score of keys [lo, hi).
inline float max_of(const float* scores, int lo, int hi) {
  Vec best = splat(kLowest);
  int j = lo;
  for (; j + kLanes <= hi; j += kLanes) best = max(best, load(scores + j));
  float value = reduce_max(best);
  for (; j < hi; ++j) value = scores[j] > value ? scores[j] : value;
  return value;
}

template <class Gemm>
class TileAttention {
  using E = typename Gemm::Element;

 public:
  TileAttention(const AttendUnit& unit, std::byte* scratch)
      : unit_(unit),
        call_(*unit.call),
        dim_(round_up(call_.head_dim, 32)),
        flat_rows_(unit.row_count * unit.head_count),
        padded_rows_(round_up(flat_rows_, kTileRows)) {
    lay_out(call_, flat_rows_, scratch, &s_);
  }

  void run() {
    load_queries();
    for (int i = 0; i < padded_rows_; ++i) s_.max[i] = kLowest, s_.sum[i] = 0.0f;
    std::memset(s_.out, 0, sizeof(float) * static_cast<size_t>(padded_rows_) * dim_);
    Gemm::begin();
    for (int i = 0; i < unit_.segment_count; ++i) segment(unit_.segments[i]);
    Gemm::end();
    write_out();
  }

 private:
  int64_t flat_offset(int f) const {
    const int64_t row = unit_.row_begin + f / unit_.head_count;
    return row * call_.heads + unit_.head_begin + f % unit_.head_count;
  }
  int64_t position(int f) const { return unit_.row_position + f / unit_.head_count; }

  void load_queries() {
    E* out = s_.queries;
    for (const float* form : call_.queries) {
      for (int f = 0; f < padded_rows_; ++f, out += dim_) {
        if (f < flat_rows_) {
          convert_row(form + flat_offset(f) * call_.head_dim, call_.head_dim, dim_,
                      call_.scale * kLog2e, out);
        } else {
          std::memset(out, 0, sizeof(E) * static_cast<size_t>(dim_));
        }
      }
    }
  }

  void segment(const KeySegment& s) {
    // What a row sees moves one way with its position, so the first and last rows bound the unit.
    const KeyRange first = visible_keys(s, position(0));
    const KeyRange last = visible_keys(s, position(flat_rows_ - 1));
    for (int64_t begin = first.begin; begin < last.end; begin += kTileKeys) {
      const int64_t left = last.end - begin;
      const int count = left < kTileKeys ? static_cast<int>(left) : kTileKeys;
      const KeyBlock block{&s, call_.rotations, begin, count, round_up(count, 32), dim_};
      if constexpr (sizeof(E) == 4) {
        pack_f32(block, s_.keys, s_.values);
      } else {
#if defined(__AVX512BF16__)
        pack_bf16(block, s_.keys, s_.values, s_.rows);
#endif
      }
      for (int f = 0; f < flat_rows_; f += kTileRows) tile(block, f);
    }
  }

  void tile(const KeyBlock& block, int f) {
    const KeySegment& s = *block.segment;
    const int rows = flat_rows_ - f < kTileRows ? flat_rows_ - f : kTileRows;
    int lo[kTileRows], hi[kTileRows];
    bool any = false;
    for (int r = 0; r < rows; ++r) {
      if (r > 0 && position(f + r) == position(f + r - 1)) {
        lo[r] = lo[r - 1], hi[r] = hi[r - 1];
      } else {
        const KeyRange range = visible_keys(s, position(f + r));
        lo[r] = clamp_to(block, range.begin);
        hi[r] = clamp_to(block, range.end);
      }
      any = any || lo[r] < hi[r];
    }
    if (!any) return;
    const E* queries = s_.queries + (static_cast<int64_t>(s.query) * padded_rows_ + f) * dim_;
    Gemm::run(kTileRows, block.padded_keys, dim_, queries, dim_, s_.keys, kTileKeys, s_.scores,
              kTileKeys, false);
    for (int r = 0; r < kTileRows; ++r) {
      if (r < rows && lo[r] < hi[r]) {
        softmax_row(f + r, r, lo[r], hi[r], block.padded_keys);
      } else {
        std::memset(s_.weights + r * kTileKeys, 0, sizeof(E) * static_cast<size_t>(block.padded_keys));
      }
    }
    Gemm::run(kTileRows, dim_, block.padded_keys, s_.weights, kTileKeys, s_.values, dim_,
              s_.out + static_cast<int64_t>(f) * dim_, dim_, true);
  }

  static int clamp_to(const KeyBlock& block, int64_t key) {
    const int64_t at = key - block.begin;
    return at < 0 ? 0 : at > block.count ? block.count : static_cast<int>(at);
  }

  void softmax_row(int f, int r, int lo, int hi, int padded) {
    const float* scores = s_.scores + r * kTileKeys;
    const float block_max = max_of(scores, lo, hi);
    if (block_max > s_.max[f]) {
      const float shrink = first_lane(exp2_precise(splat(s_.max[f] - block_max)));
      s_.max[f] = block_max;
      s_.sum[f] *= shrink;
      float* out = s_.out + static_cast<int64_t>(f) * dim_;
      for (int t = 0; t < dim_; t += kLanes) store(out + t, load(out + t) * splat(shrink));
    }
    s_.sum[f] += weights_of(scores, lo, hi, padded, s_.max[f], s_.weights + r * kTileKeys);
  }

  void write_out() {
    for (int f = 0; f < flat_rows_; ++f) {
      float* out = call_.out + flat_offset(f) * call_.head_dim;
      const float* from = s_.out + static_cast<int64_t>(f) * dim_;
      const float inverse = s_.sum[f] > 0 ? 1.0f / s_.sum[f] : 0.0f;
      for (int t = 0; t < call_.head_dim; ++t) out[t] = from[t] * inverse;
      if (call_.lse != nullptr) {
        call_.lse[flat_offset(f)] =
            s_.sum[f] > 0 ? s_.max[f] / kLog2e + __builtin_logf(s_.sum[f]) : -__builtin_inff();
      }
    }
  }

  const AttendUnit& unit_;
  const AttendCall& call_;
  int dim_, flat_rows_, padded_rows_;
  Scratch<E> s_;
};

#if defined(__AMX_BF16__)
using BestGemm = GemmAmx;
#elif defined(__AVX512BF16__)
using BestGemm = GemmBf16;
#else
using BestGemm = GemmF32;
#endif

}  // namespace

size_t tile_scratch_bytes(const AttendCall& call, int flat_rows) {
  Scratch<float> s;  // the larger of the element types
  return lay_out(call, flat_rows, nullptr, &s);
}

void attend_tile(const AttendUnit& unit, std::byte* scratch) {
  if (unit.call->compute == AttendCompute::kF32) {
    TileAttention<GemmF32>(unit, scratch).run();
  } else {
    TileAttention<BestGemm>(unit, scratch).run();
  }
}

size_t few_scratch_bytes(const AttendCall& call);
void attend_few(const AttendUnit& unit, std::byte* scratch);

extern const AttentionKernels kAttentionKernels = {tile_scratch_bytes, attend_tile,
                                                   few_scratch_bytes, attend_few};

}  // namespace longhaul::LH_ISA
